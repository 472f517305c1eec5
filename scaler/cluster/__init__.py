"""What the scaler reads from the cluster and writes to it."""
