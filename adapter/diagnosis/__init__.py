"""Why a metric has a value, or why it has none: what `explain` and `check` report.

Pure: `explanation`, `findings`, `near_misses`, `unserved`, `rule_yields`, `check_report`, `trace`. They judge what they
are given. `explainer`, `rule_check` and `autoscaler_requests` send the requests.
"""
