"""What is done: one write of the target's Scale subresource."""
