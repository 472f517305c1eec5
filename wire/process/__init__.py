"""What every program consists of: command line, logs, followed files, background tasks."""
