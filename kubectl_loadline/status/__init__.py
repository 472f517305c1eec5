"""Autoscalers in a line each, and what a dry run would have done."""
