"""The adapter: Kubernetes' metrics APIs answered from Prometheus."""
