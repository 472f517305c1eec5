"""What goes wrong in a simulation, made from the seed: a list of faults, each of which can be left out."""

import random
from collections.abc import Callable, Sequence

import msgspec

from tests.simulation.metrics_apis import CUSTOM, EXTERNAL, RESOURCE, metric_of
from tests.simulation.network import Request
from tests.simulation.scenario import Scenario

REPLICAS = ("scaler-a", "scaler-b")
FIRST_FAULT_SECONDS = 60.0


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
    dice = random.Random(f"faults {scenario.seed}")
    count = dice.choice((0, 1, 2, 3, 4, 6, 8))
    # A seed that knows only some kinds meets each of them in more combinations.
    mixed = dice.sample(sorted(MAKERS), k=dice.randint(2, 6))
    known = theme or dice.choice((*THEMES, *[mixed] * len(THEMES)))
    faults = []
    for _ in range(count):
        at = dice.uniform(FIRST_FAULT_SECONDS, scenario.calm_at * 0.9)
        faults.append(MAKERS[dice.choice(known)](dice, scenario, at))
    return tuple(sorted(faults, key=lambda fault: fault.at))


def _lasting(dice: random.Random, scenario: Scenario, at: float, most: float = 300.0) -> float:
    return min(
        dice.choice((2.0, 10.0, 30.0, 90.0, most)) * dice.uniform(0.5, 1), scenario.calm_at - at
    )


def _who(dice: random.Random) -> str:
    return dice.choice((*REPLICAS, "leader", "leader"))


def _key(dice: random.Random, scenario: Scenario) -> str:
    return dice.choice(scenario.autoscalers).key


def _kill(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    down = _lasting(dice, scenario, at)
    return Fault(
        kind="kill", at=at, seconds=down, who=dice.choice((*REPLICAS, "leader", "leader", "both"))
    )


def _terminate(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    return Fault(kind="terminate", at=at, who=dice.choice((*REPLICAS, "leader", "both")))


def _pause(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    return Fault(kind="pause", at=at, seconds=_lasting(dice, scenario, at, 60.0), who=_who(dice))


def _partition(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    how = dice.choice(("hangs", "refused"))
    return Fault(
        kind="partition", at=at, seconds=_lasting(dice, scenario, at), who=_who(dice), how=how
    )


def _clock_step(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    amount = dice.choice((-3600.0, -400.0, -60.0, 60.0, 385.0, 3600.0))
    return Fault(kind="clock-step", at=at, who=_who(dice), amount=amount)


def _api(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    how = dice.choice(("hang", "lost", "cut", "torn", "slow", "error", "throttled"))
    return Fault(
        kind="api", at=at, seconds=_lasting(dice, scenario, at), how=how,
        share=dice.choice((0.1, 0.5, 1.0)), amount=dice.choice((1.0, 5.0, 20.0)),
    )  # fmt: skip


def _writes(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    where = dice.choice(("scale", "status", "leases", "events"))
    how = dice.choice(("lost", "conflict", "error", "hang", "slow"))
    return Fault(
        kind="writes", at=at, seconds=_lasting(dice, scenario, at), where=where, how=how,
        share=dice.choice((0.3, 1.0)), amount=5.0,
    )  # fmt: skip


def _metrics(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    how = dice.choice(
        ("hang", "cut", "torn", "slow", "error", "throttled", "garbage", "empty", "partial")
    )
    where = dice.choice(
        (EXTERNAL, CUSTOM, RESOURCE, "all", _key(dice, scenario), _key(dice, scenario))
    )
    return Fault(
        kind="metrics", at=at, seconds=_lasting(dice, scenario, at, 500.0), where=where, how=how,
        share=dice.choice((0.5, 1.0, 1.0)), amount=dice.choice((1.0, 5.0, 30.0)),
    )  # fmt: skip


def _watches(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    how = dice.choice(("cut", "gone", "stale", "hang", "error"))
    where = dice.choice(("loadautoscalers", "pods", "horizontalpodautoscalers"))
    return Fault(
        kind="watches",
        at=at,
        seconds=_lasting(dice, scenario, at),
        where=where,
        how=how,
        who=dice.choice((*REPLICAS, "")),
    )


def _discovery(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    how = dice.choice(("nulls", "hang", "error", "garbage", "slow"))
    return Fault(
        kind="discovery", at=at, seconds=_lasting(dice, scenario, at), how=how, amount=20.0
    )


def _pods(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    return Fault(kind="pods", at=at, where=_key(dice, scenario), amount=dice.uniform(0.2, 1.0))


def _users(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    how = dice.choice(("scale", "bounds", "recreate", "label", "lease-deleted", "behavior-removed"))
    return Fault(
        kind="user", at=at, where=_key(dice, scenario), how=how, amount=dice.randint(0, 15)
    )


def _rival(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    how = dice.choice(("LoadAutoscaler", "HorizontalPodAutoscaler"))
    seconds = min(dice.choice((20.0, 90.0, 200.0)), scenario.calm_at - at)
    return Fault(kind="rival", at=at, seconds=seconds, where=_key(dice, scenario), how=how)


def _crd(dice: random.Random, scenario: Scenario, at: float) -> Fault:
    return Fault(kind="crd", at=at, seconds=_lasting(dice, scenario, at))


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
    """Which requests a fault of the kinds api, writes, metrics, watches and discovery hits."""
    if fault.kind == "writes":
        methods = ("PUT", "POST", "PATCH")
        return lambda request: request.method in methods and fault.where in request.parts
    if fault.kind == "metrics":
        return lambda request: _is_measured(request, fault.where)
    if fault.kind == "watches":
        return lambda request: (
            fault.where in request.parts[-1:]
            and request.method == "GET"
            and fault.who in ("", request.replica)
        )
    if fault.kind == "crd":
        return lambda request: "loadautoscalers" in request.parts
    if fault.kind == "discovery":
        return lambda request: request.path in ("/api", "/apis")
    return lambda request: not request.is_watch


def _is_measured(request: Request, where: str) -> bool:
    measured = metric_of(request)
    if measured is None:
        return False
    return where in ("all", measured.group, f"{measured.namespace}/{measured.workload}")
