"""`kubectl loadline backtest`."""
