"""PURE  The target's selector: missing, malformed, of any operator, and claimed by more than one autoscaler."""

import msgspec

from testbed.differential.scaler.scenario_model import (
    Autoscaler,
    ClusterState,
    Pod,
    Scale,
    Scenario,
)
from testbed.differential.scaler.scenarios.parts import (
    external,
    of_queue,
    pods,
    resource,
    scenario,
    spec,
    state,
    then,
    total,
    usage,
    utilization,
)

CPU = spec(resource("cpu", utilization(50)))
QUEUE = spec(external("queue", total("100")))


def _one() -> list[Scenario]:
    first = state(CPU, measured=usage("900m", "900m", "900m"))
    none = state(CPU, selector="", measured=usage("900m", "900m", "900m"))
    return [
        scenario(
            "selector",
            "missing, then there",
            none,
            then(none, selector="app=web"),
            then(none, selector=""),
        ),
        scenario(
            "selector",
            "missing for a queue",
            state(QUEUE, selector="", responses=of_queue("queue", "1")),
        ),
        *[
            scenario("selector", f"{name} cannot be read", then(first, replicas=3, selector=text))
            for name, text in (
                ("an open bracket", "app in (web"),
                ("an invalid operator", "app ~ web"),
                ("an invalid key", "-app=web"),
                ("an invalid value", "app=we b"),
                ("an invalid number", "app>x"),
                ("a comma", ","),
            )
        ],
        *[
            scenario("selector", name, then(first, replicas=3, selector=text))
            for name, text in (
                ("of sets", "app in (web,api),tier notin (db)"),
                ("of existence", "app,!tier"),
                ("of inequality", "app==web,tier!=db"),
                ("that matches no pod", "app=other"),
                ("with spaces", " app = web , app != api "),
            )
        ],
        scenario(
            "selector",
            "that matches no pod of a queue",
            then(
                state(QUEUE, responses=of_queue("queue", "160")), replicas=3, selector="app=other"
            ),
        ),
    ]


def _two(first: str, second: str, listed: tuple[Pod, ...] | None = None) -> ClusterState:
    """At the target value: otherwise the first to be reconciled would scale before the other is known."""
    both = tuple(
        Autoscaler(name=name, spec=CPU, scale=Scale(replicas=3, selector=selector))
        for name, selector in (("one", first), ("two", second))
    )
    measured = usage("500m", "500m", "500m")
    return ClusterState(autoscalers=both, pods=listed or pods(3), usage=measured)


def _three() -> ClusterState:
    """The last one shares pods with the first two, which share none: none is ever ambiguous with another one before."""
    listed = tuple(
        Pod(name=f"p{number}", labels={"app": "web", "tier": tier})
        for number, tier in enumerate(("front", "back", "cache"))
    )
    two = _two("tier=front", "tier=back", listed)
    third = Autoscaler(name="web", spec=CPU, scale=Scale(replicas=3, selector="app=web"))
    return msgspec.structs.replace(two, autoscalers=(*two.autoscalers, third))


def _several() -> list[Scenario]:
    labels = {"app": "web", "tier": "front"}
    mixed = (Pod(name="p0", labels=labels), Pod(name="p1"), Pod(name="p2", labels={"app": "api"}))
    full = _two("app=web", "app=web")
    apart = tuple(
        msgspec.structs.replace(each, scale=Scale(selector=selector))
        for each, selector in zip(full.autoscalers, ("app=web", "app=other"), strict=True)
    )
    return [
        scenario("ambiguous", "two autoscalers of the same pods", full),
        scenario("ambiguous", "three autoscalers, of which one has the pods of all", _three()),
        scenario("ambiguous", "two autoscalers share a pod", _two("app=web", "tier=front", mixed)),
        scenario("ambiguous", "two autoscalers share none", _two("tier=front", "app=api", mixed)),
        scenario(
            "ambiguous",
            "two autoscalers of the same selector without pods",
            _two("app=absent", "app=absent"),
        ),
        scenario(
            "ambiguous",
            "two autoscalers of the same pods that are then separated",
            full,
            msgspec.structs.replace(full, autoscalers=apart),
        ),
        scenario(
            "ambiguous",
            "two autoscalers share only terminating pods",
            _two(
                "app=web",
                "app=web",
                (Pod(name="p0", deleting=True), Pod(name="p1", phase="Failed")),
            ),
        ),
    ]


def selector_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_one(), *_several())
