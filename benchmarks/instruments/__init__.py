"""What the questions are measured with."""
