"""PURE  behavior: policies, stabilization windows, tolerances, and how they depend on time.

Windows and periods are either longer than any run or shorter than the time between two reconciles: the two sides
reconcile at different times, which must not make a difference.
"""

from typing import Any

from testbed.differential.scaler.scenario_model import ClusterState, Responses, Scenario, Step
from testbed.differential.scaler.scenarios.parts import (
    ANY_DOWN,
    ANY_UP,
    external,
    of_queue,
    scenario,
    spec,
    state,
    then,
    total,
)

QUEUE = external("queue", total("100"))
LONG_SECONDS = 1800
SHORT_SECONDS = 1


def _policy(kind: str, value: int, period: int = LONG_SECONDS) -> dict[str, Any]:
    return {"type": kind, "value": value, "periodSeconds": period}


def _rules(*policies: dict[str, Any], select: str | None = None, window: int = 0) -> dict[str, Any]:
    """Scaling rules, by default with policies that never limit."""
    rules: dict[str, Any] = {"stabilizationWindowSeconds": window}
    rules["policies"] = list(policies or (ANY_UP, ANY_DOWN))
    if select:
        rules["selectPolicy"] = select
    return rules


def _free(**rules: dict[str, Any]) -> dict[str, Any]:
    """A behavior without limits except for these rules."""
    return {"scaleUp": _rules(), "scaleDown": _rules(), **rules}


def _at(ratio: str) -> Responses:
    """The metric at this percentage of its target."""
    return of_queue("queue", ratio)


def _first(rules: dict[str, Any], ratio: str = "100", count: int = 10) -> ClusterState:
    """A first state without limits except for these rules."""
    return state(
        spec(QUEUE, most=1000, behavior=_free(**rules)),
        replicas=count,
        all_pods=count,
        responses=_at(ratio),
    )


def _up_and_down(name: str, behavior: dict[str, Any], count: int = 10) -> Scenario:
    """Far above the target, still above it, then close to zero."""
    first = _first(behavior, "900", count)
    return scenario(
        "behavior",
        name,
        first,
        then(first, responses=_at("500")),
        then(first, responses=_at("1")),
        then(first, responses=_at("1")),
    )


def _by_default(name: str, behavior: dict[str, Any], count: int) -> Scenario:
    """A scenario that ends within the 15 s of the API's default policies."""
    wanted = spec(QUEUE, most=1000, behavior=behavior)
    first = state(wanted, replicas=count, all_pods=count, responses=_at("900"))
    return scenario("behavior", name, first)


def _policies() -> list[Scenario]:
    pods, percent = _policy("Pods", 3), _policy("Percent", 50)
    return [
        _by_default("empty", {}, count=10),
        _by_default("empty rules", {"scaleUp": {}, "scaleDown": {}}, count=1),
        _up_and_down("so many pods", {"scaleUp": _rules(pods), "scaleDown": _rules(pods)}),
        _up_and_down("so many percent", {"scaleUp": _rules(percent), "scaleDown": _rules(percent)}),
        _up_and_down(
            "the most of two",
            {
                "scaleUp": _rules(pods, percent, select="Max"),
                "scaleDown": _rules(pods, percent, select="Max"),
            },
        ),
        _up_and_down(
            "the least of two",
            {
                "scaleUp": _rules(pods, percent, select="Min"),
                "scaleDown": _rules(pods, percent, select="Min"),
            },
        ),
        _up_and_down(
            "neither up nor down",
            {"scaleUp": _rules(select="Disabled"), "scaleDown": _rules(select="Disabled")},
        ),
        _up_and_down("more than all may go", {"scaleDown": _rules(_policy("Percent", 500))}),
        _up_and_down(
            "two billion pods",
            {"scaleUp": _rules(_policy("Pods", 2147483647)), "scaleDown": _rules(pods)},
        ),
        scenario(
            "behavior",
            "ten percent of 110 up, ninety of ten down",
            _first({"scaleUp": _rules(_policy("Percent", 10))}, "900", 110),
        ),
        scenario(
            "behavior",
            "ninety percent down of ten",
            _first({"scaleDown": _rules(_policy("Percent", 90))}, "1"),
        ),
    ]


def _periods() -> list[Scenario]:
    quick = {
        "scaleUp": _rules(_policy("Pods", 2, SHORT_SECONDS)),
        "scaleDown": _rules(_policy("Pods", 2, SHORT_SECONDS)),
    }
    first = _first(quick, "900")
    mixed = _first(
        {
            "scaleUp": _rules(_policy("Pods", 2, SHORT_SECONDS), _policy("Percent", 50)),
            "scaleDown": _rules(
                _policy("Pods", 4), _policy("Pods", 1, SHORT_SECONDS), select="Min"
            ),
        },
        "900",
    )
    counted = _first({"scaleDown": _rules(_policy("Pods", 5))}, "200")
    four = _first({"scaleUp": _rules(_policy("Pods", 4))})
    again = [
        Step(state=then(first, responses=_at(ratio)), reconciles=1) for ratio in ("900", "1", "1")
    ]
    mixed_again = [
        Step(state=then(mixed, responses=_at(ratio)), reconciles=1) for ratio in ("900", "1", "1")
    ]
    return [
        scenario("behavior", "a period ends", Step(state=first, reconciles=1), *again),
        scenario(
            "behavior", "one of two periods ends", Step(state=mixed, reconciles=1), *mixed_again
        ),
        scenario(
            "behavior",
            "going up counts for what may go down",
            counted,
            then(counted, responses=_at("1")),
            then(counted, responses=_at("300")),
        ),
        scenario(
            "behavior",
            "an event of the bounds counts",
            four,
            then(
                four,
                spec=spec(
                    QUEUE, least=13, most=1000, behavior=_free(scaleUp=_rules(_policy("Pods", 4)))
                ),
                responses=_at("900"),
            ),
        ),
    ]


def _windows() -> list[Scenario]:
    down = _first({"scaleDown": _rules(window=600)})
    up = _first({"scaleUp": _rules(window=600), "scaleDown": _rules()})
    both = _first({"scaleUp": _rules(window=600), "scaleDown": _rules(window=600)})
    ended = _first(
        {"scaleUp": _rules(window=SHORT_SECONDS), "scaleDown": _rules(window=SHORT_SECONDS)}
    )
    nil = _first({"scaleDown": {"policies": [ANY_DOWN]}})
    return [
        scenario(
            "behavior",
            "held up by a window",
            down,
            then(down, responses=_at("50")),
            then(down, responses=_at("120")),
            then(down, responses=_at("10")),
        ),
        scenario(
            "behavior",
            "held down by a window",
            up,
            then(up, responses=_at("200")),
            then(up, responses=_at("50")),
            then(up, responses=_at("400")),
        ),
        scenario(
            "behavior",
            "held from both sides",
            both,
            then(both, responses=_at("200")),
            then(both, responses=_at("20")),
        ),
        scenario(
            "behavior",
            "a window ends",
            Step(state=ended, reconciles=1),
            Step(state=then(ended, responses=_at("50")), reconciles=1),
            Step(state=then(ended, responses=_at("400")), reconciles=1),
        ),
        scenario(
            "behavior",
            "no window down means that of the flag",
            nil,
            then(nil, responses=_at("20")),
        ),
        scenario(
            "behavior",
            "the first replicas count as recommended",
            _first({"scaleDown": _rules(window=600)}, "20"),
            then(down, responses=_at("20"), replicas=15),
        ),
    ]


def _tolerances() -> list[Scenario]:
    behavior = {
        "scaleUp": {**_rules(), "tolerance": "0.3"},
        "scaleDown": {**_rules(), "tolerance": "50m"},
    }
    none = {"scaleUp": {**_rules(), "tolerance": 0}, "scaleDown": {**_rules(), "tolerance": "0"}}
    odd = {
        "scaleUp": {**_rules(), "tolerance": "570m"},
        "scaleDown": {**_rules(), "tolerance": "1"},
    }
    steps = {"tolerance of its own": (behavior, ("130", "131", "95", "94")),
             "no tolerance": (none, ("100", "101", "99")),
             "an odd tolerance": (odd, ("157", "158", "1", "0"))}  # fmt: skip
    return [
        scenario(
            "behavior",
            name,
            *(then(_first(rules), replicas=10, responses=_at(ratio)) for ratio in ratios),
        )
        for name, (rules, ratios) in steps.items()
    ]


def behavior_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_policies(), *_periods(), *_windows(), *_tolerances())
