"""The client of the Kubernetes API: connections, requests, watch caches, the REST mapper."""
