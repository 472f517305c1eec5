"""Stage: write the target's Scale subresource."""
