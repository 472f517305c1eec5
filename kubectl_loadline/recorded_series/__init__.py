"""Recorded series of an autoscaler and its target: from Prometheus, or from files."""
