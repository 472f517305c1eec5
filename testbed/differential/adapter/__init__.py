"""The real prometheus-adapter v0.12.0 and ours: same cluster, same Prometheus, same configuration, same requests.

`world` is what exists and is measured, `configurations/` what both are told, `questions` what both are asked, `comparison`
what counts as the same answer, `deviations` where ours differs on purpose, `sides` the two processes, `run` all of it.
"""
