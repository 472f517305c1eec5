"""The words both programs share: Kubernetes' own types, as they are on the wire."""
