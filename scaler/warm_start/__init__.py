"""Recorded load for new forecasts: which PromQL has it, its range queries, and the replay in the background."""
