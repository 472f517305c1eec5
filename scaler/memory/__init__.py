"""What the scaler remembers of each autoscaler: kept in the process, and stored for the next one."""
