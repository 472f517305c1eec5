"""Pure: what the scaler would have decided over a recorded load, and how well that served it."""
