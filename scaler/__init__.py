"""The scaler: observe, gather, recommend, normalize, actuate, report."""
