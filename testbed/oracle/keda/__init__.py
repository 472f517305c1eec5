"""KEDA's fallback and its scaling to zero, by its own code."""
