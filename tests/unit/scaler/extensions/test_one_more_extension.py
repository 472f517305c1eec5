"""One more extension is one class and one entry in the list: nothing else of the scaler knows of it."""

import msgspec

from kubectl_loadline.backtest.loop import decisions
from kubectl_loadline.backtest.pods import SimulatedPods
from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.derivation import decoded, encoded
from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Gauge, Given
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.policy import Policy
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.remark import Remark
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import AutoscalerStatus
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.status import status_body, stored_memory
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import NOW, autoscaler, decided, observed, recommended, spec


class Step(msgspec.Struct, frozen=True):
    """How many reconciles it has rested, and how many replicas it wanted."""

    rested: int
    wanted: int


class Rest(Extension[int, int]):
    """After a change of the replicas, they stay for so many reconciles. Its state is how many of them are left."""

    name = "rest"
    conditions = ("Resting",)
    state_type = int
    step_type = Step
    gauges = (Gauge("rested", "Reconciles that were rested.", lambda step: step.rested),)

    def rules(self, given: Given, policy: Policy) -> int | None:
        found = given.autoscaler.metadata.annotations.get("rest")
        return None if found is None else int(found)

    def decided(self, rules: int, draft: Draft) -> None:
        left = draft.states.get(self.name) or 0
        wanted, current = draft.replicas, draft.turn.current_replicas
        if left:
            draft.replicas = current
        draft.states[self.name] = left - 1 if left else rules * (wanted != current)
        draft.steps[self.name] = Step(rested=int(left > 0), wanted=wanted)
        draft.add(
            Remark(
                condition="Resting",
                active=left > 0,
                reason="Resting" if left else "Rested",
                message="it rests" if left else "it may change",
                holds=draft.replicas != wanted,
            )
        )

    def status(
        self, rules: int, step: Step, policy: Policy, status: AutoscalerStatus
    ) -> AutoscalerStatus:
        return msgspec.structs.replace(status, extensions={self.name: f"wants {step.wanted}"})

    def sentence(self, step: Step, now_unix_seconds: float) -> str:
        return f"Rest: it wants {step.wanted}."


EVERYTHING = (*EXTENSIONS, Rest())
SETTINGS = Settings(kind=LOAD_AUTOSCALERS, extensions=EVERYTHING)


def resting(reconciles=2):
    of = autoscaler(spec())
    metadata = msgspec.structs.replace(of.metadata, annotations={"rest": str(reconciles)})
    return msgspec.structs.replace(of, metadata=metadata)


def decision(memory: Memory, *, replicas: int, length: int, now: float = NOW):
    seen = msgspec.structs.replace(observed(spec(), replicas=replicas), autoscaler=resting())
    reading = ExternalValues((length * 1000,))
    return decided(seen, (reading,), memory=memory, settings=SETTINGS, now=now)


def test_it_decides_and_remembers():
    first = decision(recommended((3, 15)), replicas=3, length=60)
    assert first.desired_replicas == 6
    second = decision(first.memory, replicas=6, length=90, now=NOW + 15)
    assert second.desired_replicas == 6
    third = decision(second.memory, replicas=6, length=90, now=NOW + 30)
    fourth = decision(third.memory, replicas=6, length=90, now=NOW + 45)
    assert (third.desired_replicas, fourth.desired_replicas) == (6, 9)


def test_it_remembers_across_a_restart():
    first = decision(recommended((3, 15)), replicas=3, length=60)
    history = history_of(first.memory, EVERYTHING)
    body = status_body(resting(), AutoscalerStatus(), history, LOAD_AUTOSCALERS)
    again = decision(stored_memory(body), replicas=6, length=90, now=NOW + 15)
    assert again.desired_replicas == 6
    forgotten = decision(Memory(), replicas=6, length=90, now=NOW + 15)
    assert forgotten.desired_replicas == 9


def test_it_is_shown_in_status_condition_and_why():
    first = decision(recommended((3, 15)), replicas=3, length=60)
    second = decision(first.memory, replicas=6, length=90, now=NOW + 15)
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
    second = decision(recommended((3, 15)), replicas=3, length=60)
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
