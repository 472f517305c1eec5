"""What goes wrong in a simulation, made from the seed: a list of faults, each of which can be left out."""

import random
from collections.abc import Callable, Sequence

import msgspec

from tests.simulation.metrics_apis import CUSTOM, EXTERNAL, RESOURCE, metric_of
from tests.simulation.network import Request
from tests.simulation.scenario import Scenario

FIRST_FAULT_SECONDS = 60.0
# Kinds of faults behind the metrics APIs, where the adapter serves them (`adapter_faults`).
METRIC_SOURCES = ("prometheus", "adapter", "rules")
# What a fault of the kind crd takes away.
CUSTOM_RESOURCES = ("loadautoscalers", "scalingmemories")


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One fault. `who` is a replica, `where` what of the cluster it hits; either may be empty for all."""

    kind: str
    at: float
    seconds: float = 0.0
    who: str = ""
    where: str = ""
    how: str = ""
    amount: float = 0.0
    share: float = 1.0

    def __str__(self) -> str:
        details = " ".join(part for part in (self.how, self.who, self.where) if part)
        amount = f" amount={self.amount:g}" if self.amount else ""
        share = f" share={self.share:g}" if self.share != 1 else ""
        return f"{self.at:8.1f} s  {self.kind} {details} for {self.seconds:.1f} s{amount}{share}"


def made_from(scenario: Scenario, theme: Sequence[str] = ()) -> tuple[Fault, ...]:
    """The faults of this seed, only of the kinds of `theme` if there is one; a few seeds have none."""
    rng = random.Random(f"faults {scenario.seed}")
    count = rng.choice((0, 1, 2, 3, 4, 6, 8))
    # A seed that knows only some kinds meets each of them in more combinations.
    mixed = rng.sample(sorted(MAKERS), k=rng.randint(2, 6))
    known = theme or rng.choice((*THEMES, *[mixed] * len(THEMES)))
    faults = []
    for _ in range(count):
        at = rng.uniform(FIRST_FAULT_SECONDS, scenario.calm_at * 0.9)
        faults.append(MAKERS[rng.choice(known)](rng, scenario, at))
    return tuple(sorted(faults, key=lambda fault: fault.at))


def lasting(rng: random.Random, scenario: Scenario, at: float, most: float = 300.0) -> float:
    """How long a fault lasts, which ends before the calm."""
    return min(
        rng.choice((2.0, 10.0, 30.0, 90.0, most)) * rng.uniform(0.5, 1), scenario.calm_at - at
    )


def _who(rng: random.Random, scenario: Scenario) -> str:
    return rng.choice((*scenario.replicas, "leader", "leader"))


def _key(rng: random.Random, scenario: Scenario) -> str:
    return rng.choice(scenario.autoscalers).key


def _kill(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    down = lasting(rng, scenario, at)
    return Fault(
        kind="kill",
        at=at,
        seconds=down,
        who=rng.choice((*scenario.replicas, "leader", "leader", "both")),
    )


def _terminate(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    return Fault(kind="terminate", at=at, who=rng.choice((*scenario.replicas, "leader", "both")))


def _pause(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    return Fault(
        kind="pause", at=at, seconds=lasting(rng, scenario, at, 60.0), who=_who(rng, scenario)
    )


def _partition(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    how = rng.choice(("hangs", "refused"))
    return Fault(
        kind="partition",
        at=at,
        seconds=lasting(rng, scenario, at),
        who=_who(rng, scenario),
        how=how,
    )


def _clock_step(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    amount = rng.choice((-3600.0, -400.0, -60.0, -30.0, -5.0, 5.0, 30.0, 60.0, 385.0, 3600.0))
    return Fault(kind="clock-step", at=at, who=_who(rng, scenario), amount=amount)


def _api(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    how = rng.choice(("hang", "lost", "cut", "torn", "slow", "error", "throttled"))
    return Fault(
        kind="api", at=at, seconds=lasting(rng, scenario, at), how=how,
        share=rng.choice((0.1, 0.5, 1.0)), amount=rng.choice((1.0, 5.0, 20.0)),
    )  # fmt: skip


def _writes(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    where = rng.choice(("scale", "status", "leases", "events"))
    how = rng.choice(("lost", "conflict", "error", "hang", "slow", "refused", "invalid"))
    return Fault(
        kind="writes", at=at, seconds=lasting(rng, scenario, at), where=where, how=how,
        share=rng.choice((0.3, 1.0)), amount=5.0,
    )  # fmt: skip


def _metrics(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    how = rng.choice(
        ("hang", "cut", "torn", "slow", "error", "throttled", "garbage", "empty", "partial")
    )
    where = rng.choice(
        (EXTERNAL, CUSTOM, RESOURCE, "all", _key(rng, scenario), _key(rng, scenario))
    )
    return Fault(
        kind="metrics", at=at, seconds=lasting(rng, scenario, at, 500.0), where=where, how=how,
        share=rng.choice((0.5, 1.0, 1.0)), amount=rng.choice((1.0, 5.0, 30.0)),
    )  # fmt: skip


def _watches(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    how = rng.choice(("cut", "gone", "expired", "repeated", "stale", "hang", "error"))
    where = rng.choice(("loadautoscalers", "pods", "horizontalpodautoscalers", "deployments"))
    return Fault(
        kind="watches",
        at=at,
        seconds=lasting(rng, scenario, at),
        where=where,
        how=how,
        who=rng.choice((*scenario.replicas, "")),
    )


def _discovery(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    how = rng.choice(("nulls", "hang", "error", "garbage", "slow"))
    return Fault(kind="discovery", at=at, seconds=lasting(rng, scenario, at), how=how, amount=20.0)


def _pods(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    return Fault(kind="pods", at=at, where=_key(rng, scenario), amount=rng.uniform(0.2, 1.0))


def _users(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    how = rng.choice(
        (
            "scale",
            "bounds",
            "recreate",
            "label",
            "lease-deleted",
            "lease-stolen",
            "behavior-removed",
        )
    )
    return Fault(kind="user", at=at, where=_key(rng, scenario), how=how, amount=rng.randint(0, 15))


def _rival(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    how = rng.choice(("LoadAutoscaler", "HorizontalPodAutoscaler"))
    seconds = min(rng.choice((20.0, 90.0, 200.0)), scenario.calm_at - at)
    return Fault(kind="rival", at=at, seconds=seconds, where=_key(rng, scenario), how=how)


def _crd(rng: random.Random, scenario: Scenario, at: float) -> Fault:
    return Fault(kind="crd", at=at, seconds=lasting(rng, scenario, at))


MAKERS: dict[str, Callable[[random.Random, Scenario, float], Fault]] = {
    "kill": _kill, "terminate": _terminate, "pause": _pause, "partition": _partition, "clock-step": _clock_step,
    "api": _api, "writes": _writes, "metrics": _metrics, "watches": _watches, "discovery": _discovery,
    "pods": _pods, "crd": _crd, "user": _users, "rival": _rival,
}  # fmt: skip


THEMES: tuple[list[str], ...] = (
    ["metrics"], ["metrics", "pods"], ["kill"], ["kill", "terminate", "writes"], ["kill", "clock-step"],
    ["pause", "partition"], ["rival", "watches"], ["user", "writes"],
)  # fmt: skip


def matcher(fault: Fault) -> Callable[[Request], bool]:
    """Which requests a fault of the kinds api, reads, writes, metrics, watches and discovery hits."""
    if fault.kind == "writes":
        methods = ("PUT", "POST", "PATCH", "DELETE")
        return lambda request: request.method in methods and fault.where in request.parts
    if fault.kind == "reads":
        return lambda request: request.method == "GET" and fault.where in request.parts
    if fault.kind == "metrics":
        return lambda request: _is_measured(request, fault.where)
    if fault.kind == "watches":
        # The usage of pods is below a path that ends with their name, too.
        return lambda request: (
            fault.where in request.parts[-1:]
            and metric_of(request) is None
            and request.method == "GET"
            and fault.who in ("", request.replica)
        )
    if fault.kind == "crd":
        return lambda request: any(each in request.parts for each in CUSTOM_RESOURCES)
    if fault.kind == "restore":
        return lambda _: True
    if fault.kind == "discovery":
        return lambda request: request.path in ("/api", "/apis")
    return lambda request: not request.is_watch


def _is_measured(request: Request, where: str) -> bool:
    measured = metric_of(request)
    if measured is None:
        return False
    return where in ("all", measured.group, f"{measured.namespace}/{measured.workload}")
