"""What the simulation itself must keep: the same seed is the same run, and the model answers as an API server."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.hpa_model.identity import KEPT_MAX, kept_by_identity
from tests.simulation import faults, scenario
from tests.simulation.cluster import ApiError, Cluster
from tests.simulation.hash_seed import VARIABLE, is_random
from tests.simulation.journal import Held, Journal
from tests.simulation.network import Connection
from tests.simulation.ownership import Ownership
from tests.simulation.simulate import simulate
from tests.simulation.timeline import ProcessLoop, Spinning, Timeline


class Nowhere:
    """No network."""

    async def connect(self, loop: ProcessLoop, protocol: asyncio.Protocol, port: int) -> Connection:
        raise ConnectionRefusedError


def test_a_seed_is_the_same_run_every_time() -> None:
    first, second = (simulate(22, trace=True).journal for _ in range(2))
    assert first.trace == second.trace
    assert first.requests == second.requests


def test_a_seed_makes_the_same_scenario_and_faults_every_time() -> None:
    assert scenario.made_from(7) == scenario.made_from(7)
    assert faults.made_from(scenario.made_from(7)) == faults.made_from(scenario.made_from(7))


def test_the_order_of_sets_is_fixed() -> None:
    assert os.environ.get(VARIABLE, "random") != "random"


def test_the_order_of_sets_is_fixed_by_pytest_itself() -> None:
    environment = {name: text for name, text in os.environ.items() if name != VARIABLE}
    test = f"{__file__}::{test_the_order_of_sets_is_fixed.__name__}"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("program", "environment", "is_started_again"),
    [
        pytest.param("bin/pytest", {}, True, id="the program"),
        pytest.param("site-packages/pytest/__main__.py", {}, True, id="the module"),
        pytest.param("bin/pytest", {VARIABLE: "random"}, True, id="random by choice"),
        pytest.param("bin/pytest", {VARIABLE: "0"}, False, id="fixed"),
        pytest.param("bin/pytest", {VARIABLE: "7"}, False, id="fixed to another one"),
        pytest.param("site-packages/mutmut/__main__.py", {}, False, id="another program"),
    ],
)
def test_only_a_pytest_whose_sets_have_a_random_order_is_started_again(
    program: str, environment: dict[str, str], is_started_again: bool
) -> None:
    assert is_random(program, environment) == is_started_again


@pytest.fixture
def timeline() -> Iterator[Timeline]:
    made = Timeline()
    yield made
    for loop in made.loops:
        loop.close()


def test_a_process_wakes_when_its_own_clock_says_so(timeline: Timeline) -> None:
    loop = ProcessLoop(timeline, Nowhere(), starts_at=1000.0, rate=2.0)
    timeline.loops.append(loop)
    woken = []
    loop.call_later(10.0, lambda: woken.append((timeline.now, loop.time())))
    timeline.run_until(60.0)
    assert [(round(now, 3), round(own, 3)) for now, own in woken] == [(5.0, 1010.0)]


def test_a_process_that_never_waits_is_noticed(timeline: Timeline) -> None:
    loop = ProcessLoop(timeline, Nowhere())
    timeline.loops.append(loop)

    def again() -> None:
        loop.call_soon(again)

    again()
    with pytest.raises(Spinning):
        timeline.run_until(1.0)


def test_a_write_with_an_old_version_is_a_conflict() -> None:
    pods = Cluster(Timeline()).add("v1", "Pod", "pods")
    created = pods.create({"metadata": {"namespace": "shop", "name": "web"}, "spec": {}})
    given = created["metadata"]
    pods.update("shop", "web", lambda found: found.update(spec={"node": "a"}), given=given)
    with pytest.raises(ApiError, match="has been modified"):
        pods.update("shop", "web", lambda found: found.update(spec={"node": "b"}), given=given)


def test_a_write_that_changes_nothing_makes_no_version() -> None:
    pods = Cluster(Timeline()).add("v1", "Pod", "pods")
    before = pods.create({"metadata": {"namespace": "shop", "name": "web"}, "spec": {}})
    after = pods.update("shop", "web", lambda found: found.update(spec={}))
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_a_document_is_read_again_only_if_it_is_another_one() -> None:
    read: list[tuple[list[int], str]] = []

    @kept_by_identity
    def total(values: list[int], name: str) -> int:
        read.append((values, name))
        return sum(values)

    first, equal = [1, 2], [1, 2]
    assert [total(first, "a"), total(first, "a"), total(first, "b"), total(equal, "a")] == [3] * 4
    assert [(values is first, name) for values, name in read] == [
        (True, "a"),
        (True, "b"),
        (False, "a"),
    ]


def test_a_new_document_never_gets_what_was_read_of_one_that_is_gone() -> None:
    @kept_by_identity
    def total(values: list[int]) -> int:
        return sum(values)

    assert [total([count]) for count in range(2 * KEPT_MAX)] == list(range(2 * KEPT_MAX))


def test_a_renewal_of_a_lease_changes_no_owner_but_another_holder_does() -> None:
    journal = Journal(["shop"])
    ownership = Ownership(journal)
    for at, process, holder in ((1, "a.1", "a"), (2, "a.1", "a"), (3, "", "x"), (4, "b.1", "b")):
        lease = {"metadata": {"name": "loadline-scaler"}, "spec": {"holderIdentity": holder}}
        ownership.written(at, process, lease)
    assert [(each.at, each.process) for each in journal.holders] == [
        (1, "a.1"),
        (3, ""),
        (4, "b.1"),
    ]


@pytest.mark.parametrize(
    ("owners", "since"),
    [
        pytest.param("a", 0.0, id="from the beginning"),
        pytest.param("ba", 1.0, id="from its claim on"),
        pytest.param("aba", 2.0, id="another one owned it meanwhile"),
        pytest.param("a-a", 0.0, id="no one owned it meanwhile"),
        pytest.param("ab-a", 3.0, id="another one lost it, too"),
        pytest.param("ab", 0.0, id="it has not noticed its loss"),
        pytest.param("b-", None, id="it never owned it"),
    ],
)
def test_a_process_owns_a_namespace_from_its_first_claim_after_that_of_another_one(
    owners, since
) -> None:
    journal = Journal(("shop",))
    journal.holders += [
        Held(at=float(at), process=owner.strip("-"), namespace="shop")
        for at, owner in enumerate(owners)
    ]
    assert journal.owned_since("a", "shop/web", 10.0) == since
