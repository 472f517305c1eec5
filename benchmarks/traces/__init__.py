"""Recorded loads, and what an autoscaler decides on them minute by minute."""
