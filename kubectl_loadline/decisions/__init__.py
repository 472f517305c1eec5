"""A decision of the scaler: the last one, and what it would be with other metrics; of `kubectl loadline` and `loadline-scaler`."""
