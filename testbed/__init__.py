"""A real Kubernetes control plane and a real Prometheus on loopback, as processes of one machine.

The demo, the tests and the benchmarks run on it alike; it is no part of the installed distribution.
"""
