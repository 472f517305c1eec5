"""What the requests are measured with."""
