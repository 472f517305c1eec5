"""What users and operators read: conditions, events, status, and why."""
