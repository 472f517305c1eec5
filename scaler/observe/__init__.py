"""What is: the autoscalers, their targets' scales and pods, and who else scales the same pods."""
