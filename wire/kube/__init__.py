"""The cluster as both programs see it: connection, requests, watch caches, REST mapping, leases, events."""
