"""Compares Loadline's scaler with the HPA controller: same objects, pods and metrics must give the same decisions.

    scenario_model     PURE  scenarios: the state of the cluster and of the metrics APIs, step by step
    scenario_manifests PURE  these states as Kubernetes objects
    namespace_script   a scripted scale target and scripted metrics, with a gate that releases reconciles one by one
    scripted_api       serves the scripts as an aggregated API: the target's Scale and the three metrics APIs
    side               one program, its namespaces and its kind of autoscaler
    environment        clusters, APIs and programs, started and stopped
    lockstep           leads one side through a scenario, reconcile by reconcile
    observed_state     PURE  what a side shows after a reconcile, and the differences of two
    scaler_deviations  PURE  the intended differences
    scenario_runner    runs scenarios on both sides, many at once
    scenarios/         scenarios by category, and random ones by seed

`python -m testbed.differential.scaler --help` runs any number of them.
"""
