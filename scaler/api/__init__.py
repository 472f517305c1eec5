"""The objects of the Kubernetes API that the scaler reads and writes, as typed structs. Pure."""
