"""The commands of `kubectl loadline`."""
