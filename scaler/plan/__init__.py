"""Pure: what applies to this autoscaler now, and what has to be measured before its count can be decided."""
