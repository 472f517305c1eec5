"""Events on autoscalers, aggregated and limited as client-go does it."""
