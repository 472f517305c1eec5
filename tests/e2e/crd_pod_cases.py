"""Which pods count, and as what: specs that the API server accepts, and what it says to the others."""

from tests.e2e.crd_cases import spec

ACCEPTED = {
    **{
        f"the rollout policy {policy}": spec(podReadiness={"rollout": policy})
        for policy in ("Count", "IgnoreSurge", "HoldUp", "HottestRevision")
    },
    **{
        f"{policy} requests": spec(podReadiness={"requests": policy})
        for policy in ("Desired", "Actual")
    },
    **{
        f"the pod selection {selection}": spec(podSelection=selection)
        for selection in ("Labels", "Owned")
    },
}

REFUSED = {
    "an unknown rollout policy": (
        spec(podReadiness={"rollout": "Ignore"}),
        'spec.podReadiness.rollout: Unsupported value: "Ignore": supported values: "Count", "IgnoreSurge", "HoldUp", "HottestRevision"',
    ),
    "unknown requests": (
        spec(podReadiness={"requests": "Allocated"}),
        'spec.podReadiness.requests: Unsupported value: "Allocated": supported values: "Desired", "Actual"',
    ),
    "an unknown pod selection": (
        spec(podSelection="Owner"),
        'spec.podSelection: Unsupported value: "Owner": supported values: "Labels", "Owned"',
    ),
}
