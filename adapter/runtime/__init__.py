"""The running program: its parts connected, its configuration activated and reloaded, its background tasks."""
