"""What every program consists of: command line, event loop, logs, followed files, background tasks."""
