"""Stage: read the autoscaler, its target's scale, its pods, and the other autoscalers on the same pods."""
