"""What the commands find and reach in the cluster."""
