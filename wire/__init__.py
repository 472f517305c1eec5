"""What both programs share: the types of the Kubernetes APIs, and the client and server of HTTP."""
