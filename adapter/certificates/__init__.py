"""The serving certificate that the replicas of the adapter share and renew."""
