"""A real adapter between models of Prometheus and kube-apiserver that fail by seed; README.md says how."""
