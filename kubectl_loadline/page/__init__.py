"""The page of `kubectl loadline ui`: every autoscaler, its desired replicas and why, its last hours, and a what-if."""
