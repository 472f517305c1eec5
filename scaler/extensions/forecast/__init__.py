"""Pure: what the load of the next minutes will be at most, how reliable that is, and how many replicas it needs."""
