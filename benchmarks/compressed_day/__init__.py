"""`python -m benchmarks.compressed_day`: some days of a load on the testbed, in minutes.

A real exporter, Prometheus, adapter and control plane; the time of the scaler runs faster. The scaler has two
LoadAutoscalers for the same load, with and without a forecast. The load is normal, falls to another level, and returns.

played_load and objects -> learned_days (the days before, as a digest) -> programs (starts everything; scaler_process is the
scaler) -> recording (reads the cluster) -> outcome (figures and checks) -> picture.
"""
