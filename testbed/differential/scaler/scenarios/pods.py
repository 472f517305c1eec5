"""PURE  Pods metrics."""

from testbed.differential.scaler.scenario_model import Sample, Scenario
from testbed.differential.scaler.scenarios.parts import (
    of_pods,
    pods_metric,
    scenario,
    spec,
    state,
    then,
)
from testbed.differential.scaler.scenarios.resource import EXACT

SELECTOR = {"matchLabels": {"verb": "GET", "a": "1"}}
EXPRESSIONS = {
    "matchLabels": {"verb": "GET"},
    "matchExpressions": [
        {"key": "code", "operator": "NotIn", "values": ["500", "503"]},
        {"key": "path", "operator": "Exists"},
        {"key": "debug", "operator": "DoesNotExist"},
    ],
}


def _values() -> list[Scenario]:
    first = state(spec(pods_metric("rps", "10")), responses=of_pods("rps", "15", "16", "17"))
    exact = state(
        spec(pods_metric("rps", "10m"), behavior=EXACT),
        responses=of_pods("rps", "10m", "10m", "12m"),
    )
    return [
        scenario(
            "pods",
            "above, at and below the target",
            first,
            then(first, responses=of_pods("rps", "10", "11", "10")),
            then(first, responses=of_pods("rps", "1", "2", "500m")),
        ),
        scenario(
            "pods",
            "an average is cut, not rounded",
            exact,
            then(exact, responses=of_pods("rps", "-10m", "-10m", "-12m")),
            then(exact, responses=of_pods("rps", "10m", "11m", "11m")),
        ),
        scenario(
            "pods",
            "a pod without a value, up and down",
            state(spec(pods_metric("rps", "10")), responses=of_pods("rps", "15", "16", "")),
            then(first, responses=of_pods("rps", "", "2", "2")),
            then(first, responses=of_pods("rps", "10", "10", "")),
        ),
        scenario(
            "pods",
            "values of pods that do not exist",
            state(
                spec(pods_metric("rps", "10")),
                responses=of_pods("rps", "15", "16", "17", "99", "1"),
            ),
            then(first, responses=of_pods("rps", "", "", "", "99")),
        ),
    ]


def _odd_values() -> list[Scenario]:
    first = state(spec(pods_metric("rps", "10")), responses=of_pods("rps", "15", "16", "17"))
    return [
        scenario(
            "pods",
            "the later of two values of one pod counts",
            state(
                spec(pods_metric("rps", "10")),
                responses={
                    "pods/*/rps": (
                        Sample(name="p0", value="90"),
                        Sample(name="p0", value="10", window_seconds=30),
                        Sample(name="p1", value="10"),
                        Sample(name="p2", value="10"),
                    )
                },
            ),
        ),
        scenario(
            "pods",
            "values beyond every range",
            state(
                spec(pods_metric("rps", "1m")),
                responses=of_pods("rps", "9223372036854775807", "1", "1"),
            ),
            then(first, responses=of_pods("rps", "9e15", "9e15", "9e15")),
            then(first, responses=of_pods("rps", "10P", "1E", "1")),
            then(first, responses=of_pods("rps", "-9e15", "0", "0")),
        ),
        scenario(
            "pods",
            "quantities in every notation",
            state(
                spec(pods_metric("rps", "0.01k")), responses=of_pods("rps", "1e1", "12.5", "1Ki")
            ),
            then(first, responses=of_pods("rps", "1500u", "1n", "10m")),
        ),
    ]


def _selectors() -> list[Scenario]:
    return [
        scenario(
            "pods",
            "a metric with labels",
            state(
                spec(pods_metric("rps", "10", SELECTOR)), responses=of_pods("rps", "15", "16", "17")
            ),
        ),
        scenario(
            "pods",
            "a metric with expressions",
            state(
                spec(pods_metric("rps", "10", EXPRESSIONS)),
                responses=of_pods("rps", "15", "16", "17"),
            ),
        ),
        scenario(
            "pods",
            "a metric with an empty selector",
            state(spec(pods_metric("rps", "10", {})), responses=of_pods("rps", "15", "16", "17")),
        ),
        scenario(
            "pods",
            "a metric with an invalid selector",
            state(
                spec(
                    pods_metric(
                        "rps",
                        "10",
                        {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]},
                    )
                ),
                responses=of_pods("rps", "15", "16", "17"),
            ),
        ),
    ]


def pods_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_values(), *_odd_values(), *_selectors())
