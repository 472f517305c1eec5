"""Several replicas share the autoscalers: which namespaces belong together, and which replica owns them."""
