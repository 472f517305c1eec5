"""`kubectl loadline suggest`."""
