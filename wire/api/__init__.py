"""Kubernetes types and their text forms. Pure: no I/O, no clock."""
