"""One more extension is one class and one entry in the list: nothing else of the scaler knows of it."""

import msgspec

from kubectl_loadline.backtest.loop import decisions
from kubectl_loadline.backtest.pods import SimulatedPods
from kubectl_loadline.decisions.simulated import Simulation, printed, simulate
from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.derivation import decoded, encoded
from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Gauge, Given
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import ROUNDING_SECONDS
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.policy import Policy
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.remark import Remark
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import AutoscalerStatus, CandidateSpec
from scaler.api.candidate import CandidateStep
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.status import status_body, stored_memory
from scaler.extensions import DECIDING, EXTENSIONS
from scaler.extensions.candidate.stage import Candidate
from tests.fakes.scaler import FakeKube, FakeMapper, resource
from tests.unit.scaler.objects import (
    NOW,
    autoscaler,
    average,
    decided,
    external,
    named,
    observed,
    recommended,
    replaced,
    spec,
)


class Step(msgspec.Struct, frozen=True):
    """Whether it rested, and how many replicas it wanted."""

    rested: bool
    wanted: int


class Rest(Extension[float, float]):
    """After a change of the replicas, they stay for so many seconds. Its state is when that ends."""

    name = "rest"
    conditions = ("Resting",)
    state_type = float
    step_type = Step
    gauges = (Gauge("rested", "Whether it rests.", lambda step: float(step.rested)),)

    def rules(self, given: Given, policy: Policy) -> float | None:
        found = given.autoscaler.metadata.annotations.get("rest")
        return None if found is None else float(found)

    def bounded(self, rules: float, draft: Draft) -> None:
        until: float | None = draft.states.get(self.name)
        wanted, turn = draft.replicas, draft.turn
        rests = until is not None and not turn.moment.reached(until)
        if rests:
            draft.replicas = turn.current_replicas
        elif wanted != turn.current_replicas:
            draft.states[self.name] = turn.moment.now_unix_seconds + rules
        draft.steps[self.name] = Step(rested=rests, wanted=wanted)
        draft.add(
            Remark(
                condition="Resting",
                active=rests,
                reason="Resting" if rests else "Rested",
                message="it rests" if rests else "it may change",
                holds=draft.replicas != wanted,
            )
        )

    def shifted(self, state: float, seconds: float) -> float:
        return state + seconds

    def status(
        self, rules: float, step: Step, policy: Policy, status: AutoscalerStatus
    ) -> AutoscalerStatus:
        return msgspec.structs.replace(status, extensions={self.name: f"wants {step.wanted}"})

    def sentence(self, step: Step, now_unix_seconds: float) -> str:
        return f"Rest: it wants {step.wanted}."


def with_one_entry_more(entry):
    """The list with one entry more among the extensions that decide, also for a candidate."""
    before, after = (
        EXTENSIONS[: EXTENSIONS.index(DECIDING[0])],
        EXTENSIONS[EXTENSIONS.index(DECIDING[-1]) + 2 :],
    )
    deciding = (*DECIDING, entry)
    return (*before, *deciding, Candidate(deciding), *after)


EVERYTHING = with_one_entry_more(Rest())
SETTINGS = Settings(kind=LOAD_AUTOSCALERS, extensions=EVERYTHING)
RESTS_SECONDS = 40


def resting(of=None):
    of = autoscaler(of or spec())
    metadata = msgspec.structs.replace(of.metadata, annotations={"rest": str(RESTS_SECONDS)})
    return msgspec.structs.replace(of, metadata=metadata)


def decision(memory, *lengths, replicas, seconds=0, of=None):
    seen = msgspec.structs.replace(observed(spec(), replicas=replicas), autoscaler=resting(of))
    readings = tuple(ExternalValues((length * 1000,)) for length in lengths)
    return decided(seen, readings, memory=memory, settings=SETTINGS, now=NOW + seconds)


def after_a_change():
    """The memory after a change from 3 to 6 replicas, and its decision."""
    first = decision(recommended((3, 15)), 60, replicas=3)
    assert first.desired_replicas == 6
    return first


def test_only_the_list_has_changed():
    assert [each.name for each in EVERYTHING if each.name != "rest"] == [
        each.name for each in EXTENSIONS
    ]


def test_it_decides_and_remembers():
    memory = after_a_change().memory
    found = []
    for seconds in (15, 30, 45):
        next_one = decision(memory, 90, replicas=6, seconds=seconds)
        memory = next_one.memory
        found.append(next_one.desired_replicas)
    assert found == [6, 6, 9]


def test_its_decision_holds_until_its_deadline():
    second = decision(after_a_change().memory, 90, replicas=6, seconds=15)
    assert second.holds_until_unix_seconds == NOW + RESTS_SECONDS - ROUNDING_SECONDS


def test_it_remembers_across_a_restart():
    history = history_of(after_a_change().memory, EVERYTHING)
    body = status_body(resting(), AutoscalerStatus(), history, LOAD_AUTOSCALERS)
    again = decision(stored_memory(body), 90, replicas=6, seconds=15)
    assert again.desired_replicas == 6
    forgotten = decision(Memory(), 90, replicas=6, seconds=15)
    assert forgotten.desired_replicas == 9


def with_candidate():
    metrics = (named(external(average("5")), "own"),)
    steps = (CandidateStep(weight_percent=100, hold_seconds=600),)
    return replaced(spec(), candidate=CandidateSpec(metrics=metrics, steps=steps))


def test_it_decides_for_a_candidate_with_a_state_of_its_own():
    of = with_candidate()
    # The spec still wants 3 replicas, the candidate 6: only the candidate has changed them.
    first = decision(recommended((3, 15)), 30, 30, replicas=3, of=of)
    assert (first.desired_replicas, first.memory.states.get("rest")) == (6, None)
    second = decision(first.memory, 60, 45, replicas=6, seconds=15, of=of)
    step = second.derivation.steps["candidate"]
    assert (step.spec_desired, step.proposed, step.desired) == (6, 9, 6)
    history = history_of(first.memory, EVERYTHING)
    body = status_body(resting(of), AutoscalerStatus(), history, LOAD_AUTOSCALERS)
    again = decision(stored_memory(body), 60, 45, replicas=6, seconds=15, of=of)
    assert again.derivation.steps["candidate"] == step


def test_it_is_shown_in_status_condition_and_why():
    second = decision(after_a_change().memory, 90, replicas=6, seconds=15)
    status = settle(second, NotNeeded(), NOW + 15).status
    assert status.extensions == {"rest": "wants 9"}
    assert status.decision.held_by == "Resting"
    found = {each.type: each for each in status.conditions}
    assert (found["Resting"].status, found["Resting"].message) == ("True", "it rests")
    derivation = decoded(encoded(second.derivation), [("rest", Step)])
    assert derivation == second.derivation
    lines = explain(derivation, EVERYTHING).splitlines()
    assert "  Rest: it wants 9." in lines
    assert "  It rests." in lines


def test_its_condition_goes_with_its_field():
    second = decision(recommended((3, 15)), 60, replicas=3)
    status = settle(second, NotNeeded(), NOW).status
    without = decided(
        observed(spec(), replicas=3, status=status),
        (ExternalValues((30_000,)),),
        memory=second.memory,
        settings=SETTINGS,
    )
    after = settle(without, NotNeeded(), NOW).status
    assert "Resting" not in [each.type for each in after.conditions]
    assert "rest" not in without.memory.states


async def test_simulate_decides_with_what_it_has_stored_and_prints_it():
    kube = FakeKube()
    history = history_of(after_a_change().memory, EVERYTHING)
    body = status_body(resting(), AutoscalerStatus(), history, LOAD_AUTOSCALERS)
    kube.serve(LOAD_AUTOSCALERS.object("shop", "web"), msgspec.json.decode(body))
    scale = {"spec": {"replicas": 6}, "status": {"replicas": 6, "selector": "app=web"}}
    kube.serve("/apis/apps/v1/namespaces/shop/deployments/web/scale", {"metadata": {}, **scale})
    kube.serve("/api/v1/namespaces/shop/pods", {"items": []})
    found = await simulate(
        Simulation(
            autoscaler="shop/web",
            settings=SETTINGS,
            values={"queue": "90"},
            at_unix_seconds=NOW + 15,
        ),
        kube,
        kube,
        FakeMapper(resource("apps", "v1", "deployments", "Deployment")),
    )
    assert found.desired_replicas == 6
    assert "  Rest: it wants 9." in printed(found, SETTINGS, "text").splitlines()


def test_a_backtest_replays_it():
    pods = SimulatedPods(3, start_up_seconds=0.0, at_unix_seconds=NOW, spec=PodSpec())
    times = [int(NOW) + 15 * number for number in range(4)]
    length = {time: 60_000 if time == times[0] else 90_000 for time in times}
    found = decisions(
        resting(),
        SETTINGS,
        pods,
        lambda _, now: ExternalValues((length[int(now)],)),
        times,
    )
    assert [each.requested for each in found] == [6, 6, 6, 9]


def test_an_hpa_runs_without_it():
    settings = Settings()
    seen = msgspec.structs.replace(observed(spec(), replicas=3), autoscaler=resting())
    found = decided(
        seen, (ExternalValues((60_000,)),), memory=recommended((3, 15)), settings=settings
    )
    assert found.derivation.steps == {}
    assert found.memory.states == {}
