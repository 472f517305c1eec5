"""When each autoscaler is reconciled, and one reconcile: read, decide, write."""
