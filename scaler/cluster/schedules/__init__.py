"""The calendars of schedules."""
