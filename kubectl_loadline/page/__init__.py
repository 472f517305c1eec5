"""The page of `kubectl loadline ui`: every autoscaler, what it wants and why, its last hours, and a what-if."""
