"""The diagnosis catalogue: one module per rule, loaded by name."""
