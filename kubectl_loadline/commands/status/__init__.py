"""`kubectl loadline status`."""
