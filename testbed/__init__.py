"""A real Kubernetes control plane and a real Prometheus on loopback, as local processes.

The demo, the tests and the benchmarks all run on it. It is not part of the installed distribution.
"""
