"""`python -m testbed demo`: two workloads are scaled on real metrics by real programs; a plot shows it.

`web` is scaled on requests per second by the stock HPA controller, `worker` on the length of its queue by Loadline's
scaler; Loadline's adapter serves both metrics. Only the load is simulated: load_plan -> stack (starts everything) ->
simulated_service (spreads the load over the running pods) -> observation (reads the cluster) -> live_view ->
recorded_series (read from Prometheus) -> closing_report and picture.
"""
