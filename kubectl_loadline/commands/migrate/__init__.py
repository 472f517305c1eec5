"""`migrate`, of `kubectl loadline` and of `loadline-scaler`."""
