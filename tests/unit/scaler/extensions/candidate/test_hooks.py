"""An extension that also decides for a candidate has the same hooks called there as for the spec."""

import pytest

from scaler.algorithm.decision import Rescaled, RescaleFailed
from scaler.algorithm.extension import Extension
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Observed, ScaleUnavailable
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.api.autoscaler import Behavior, CandidateSpec
from scaler.api.candidate import CandidateStep
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions.candidate.stage import Candidate
from tests.unit.scaler.objects import NOW, autoscaler, decided, observed, replaced, rules, spec

LOST = RescaleFailed("no response", may_be_applied=True)


class Tally(Extension[bool, tuple[str, ...]]):
    """Its state is which hooks were called."""

    name = "tally"

    def rules(self, given, policy):
        return True

    def begin(self, rules, state, turn, known_replicas):
        return (*(state or ()), "begin")

    def changed(self, rules, state, change):
        word = "changed" if change.confirmed else "may have changed"
        return (*(state or ()), f"{word} to {change.after}")

    def held(self, rules, state, now_unix_seconds, *, were_read):
        return (*state, "held")

    def disabled(self, state):
        return (*state, "disabled")


SETTINGS = Settings(extensions=(Tally(), Candidate((Tally(),))), kind=LOAD_AUTOSCALERS)


def reconciled(memory, *, replicas, load, now, actuation=None):
    """One reconcile; without replicas, the Scale cannot be read."""
    behavior = Behavior(scale_up=rules(), scale_down=rules())
    of = spec(behavior=behavior)
    candidate = CandidateSpec(steps=(CandidateStep(weight_percent=50, hold_seconds=60),))
    of = replaced(of, candidate=candidate)
    seen = observed(of, replicas=replicas or 0)
    if replicas is None:
        scale = ScaleUnavailable(context="failed", message="no route")
        seen = Observed(autoscaler=autoscaler(of), scale=scale)
    reading = MetricFailed("down") if load is None else ExternalValues((load * 1000,))
    decision = decided(seen, [reading], memory=memory, settings=SETTINGS, now=now)
    return settle(decision, actuation or Rescaled(), now).memory


@pytest.mark.parametrize(
    ("reconciles", "expected"),
    [
        pytest.param([(4, 80, None)], "begin, changed to 8", id="a change"),
        pytest.param(
            [(4, 80, LOST), (8, 80, None)],
            "begin, may have changed to 8, changed to 8, begin",
            id="a change that is confirmed later",
        ),
        pytest.param([(4, None, None)], "begin, held", id="the metric fails"),
        pytest.param([(4, 40, None), (None, 40, None)], "begin, held", id="no Scale"),
        pytest.param([(4, 40, None), (0, 40, None)], "begin, begin, disabled", id="disabled"),
    ],
)
def test_a_candidate_calls_the_hooks_that_are_called_for_the_spec(reconciles, expected):
    memory = Memory()
    for number, (replicas, load, actuation) in enumerate(reconciles):
        now = NOW + 15 * number
        memory = reconciled(memory, replicas=replicas, load=load, now=now, actuation=actuation)
    assert ", ".join(memory.states["tally"]) == expected
    assert memory.states["candidate"].memory.states["tally"] == memory.states["tally"]
