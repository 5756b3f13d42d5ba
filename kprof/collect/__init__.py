"""Collecting a profile: find ncu, check the machine, build the command, run it, follow its log."""
