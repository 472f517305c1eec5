"""Pure: named schedules, that is when they are active and which bounds they set at a moment."""
