"""The HPA controller and the scaler side by side: same objects, same pods, same metrics, same decisions?

    situation   what a scenario says the world is like, step by step
    worlds      a scripted scale target and scripted metrics, with a gate that lets looks through one by one
    server      the worlds as an aggregated API: the target's Scale and the three metrics APIs
    manifests   PURE  situations as Kubernetes objects
    side        one program, its namespaces and its kind of autoscaler
    seen        PURE  what a side shows afterwards, and how two differ
    deviations  differences that are kept on purpose, by name
    run         scenarios through both sides, many at once
    scenarios/  hand-written ones by category, and random ones by seed

`python -m testbed.differential.scaler --help` runs any number of them.
"""
