"""`python -m testbed demo`: two workloads scaled on real metrics by real programs, and a picture of it.

`web` is scaled on requests per second by the stock HPA controller, through our adapter. `worker` is scaled on the
length of its queue by our scaler, through our adapter. Nothing but the load is made up: plan -> stage (everything
starts) -> service (the load, spread over the pods that run) -> observing (what the cluster says) -> view (live) ->
history (read back from Prometheus) -> report and picture.
"""
