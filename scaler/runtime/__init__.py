"""The running program: its watches, its background tasks, and how the stages are wired together."""
