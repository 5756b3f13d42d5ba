"""The probes: what this machine looks like, facts only."""
