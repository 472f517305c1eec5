"""Access to Prometheus: its URL, credentials and flags."""
