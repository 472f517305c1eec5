"""The commands of `loadline-scaler` that people use."""
