"""One seed from its scenario to its verdict, and a failing one made small."""

import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from tests.simulation import faults as fault_lists
from tests.simulation import scenario as scenarios
from tests.simulation.every_invariant import INVARIANTS
from tests.simulation.faults import Fault
from tests.simulation.invariants import Run, Violation
from tests.simulation.journal import Journal
from tests.simulation.scenario import Scenario
from tests.simulation.tampering import Tamper
from tests.simulation.timeline import Spinning
from tests.simulation.world import World

KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: model, cluster: {server: "http://127.0.0.1:6443"}}]
users: [{name: model, user: {}}]
contexts: [{name: model, context: {cluster: model, user: model}}]
current-context: model
"""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a seed."""

    scenario: Scenario
    faults: tuple[Fault, ...]
    violations: tuple[Violation, ...]
    journal: Journal


@cache
def kubeconfig() -> Path:
    """Where the model API server is, for the scaler's real client."""
    # A proxy of the environment would get the requests.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"
    path = Path(tempfile.mkdtemp(prefix="simulation-")) / "kubeconfig"
    path.write_text(KUBECONFIG)
    return path


def simulate(
    seed: int,
    faults: Sequence[Fault] | None = None,
    *,
    tamper: Tamper | None = None,
    trace: bool = False,
    scenario: Scenario | None = None,
) -> Verdict:
    """Run a seed with its own faults or with these. `scenario` replaces that of the seed."""
    scenario = scenario or scenarios.made_from(seed)
    tamper = tamper or Tamper()
    chosen = fault_lists.made_from(scenario, tamper.theme) if faults is None else tuple(faults)
    world = World(scenario, chosen, kubeconfig(), tamper)
    world.journal.trace = [] if trace else None
    found: list[Violation] = []
    try:
        world.run()
    except Spinning as error:
        found.append(Violation(invariant="never spins", at=world.timeline.now, what=str(error)))
    run = Run(scenario=scenario, faults=chosen, journal=world.journal)
    for invariant in INVARIANTS:
        found += invariant(run)
    return Verdict(scenario=scenario, faults=chosen, violations=tuple(found), journal=world.journal)


def shrunk(verdict: Verdict, *, tamper: Tamper | None = None) -> Verdict:
    """The same invariants broken with as few faults as dropping one after the other leaves."""
    broken = {each.invariant for each in verdict.violations}
    smallest = verdict
    for fault in verdict.faults:
        fewer = [each for each in smallest.faults if each is not fault]
        tried = simulate(verdict.scenario.seed, fewer, tamper=tamper, scenario=verdict.scenario)
        if broken & {each.invariant for each in tried.violations}:
            smallest = tried
    return smallest
