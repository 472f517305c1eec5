"""The HPA algorithm, pure: no I/O, and time is an argument."""
