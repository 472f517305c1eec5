"""PURE  External metrics."""

from testbed.differential.scaler.scenario_model import Scenario
from testbed.differential.scaler.scenarios.parts import (
    average,
    external,
    of_queue,
    scenario,
    spec,
    state,
    then,
    total,
)
from testbed.differential.scaler.scenarios.pods import EXPRESSIONS, SELECTOR

BIGGEST = "9223372036854775"


def _values() -> list[Scenario]:
    value = state(spec(external("queue", total("100"))), responses=of_queue("queue", "100", "60"))
    per_pod = state(spec(external("queue", average("30"))), responses=of_queue("queue", "150"))
    return [
        scenario(
            "external",
            "a value above, at and below the target",
            value,
            then(value, responses=of_queue("queue", "105")),
            then(value, responses=of_queue("queue", "10", "10")),
        ),
        scenario(
            "external",
            "an average above, at and below the target",
            per_pod,
            then(per_pod, responses=of_queue("queue", "151")),
            then(per_pod, responses=of_queue("queue", "31")),
            then(per_pod, responses=of_queue("queue", "0")),
        ),
        scenario(
            "external",
            "within the tolerance an average proposes what there is",
            state(
                spec(external("queue", average("30"))),
                replicas=10,
                status=8,
                responses=of_queue("queue", "240"),
            ),
        ),
        scenario(
            "external",
            "an average without running pods",
            state(
                spec(external("queue", average("30"))), status=0, responses=of_queue("queue", "100")
            ),
            then(per_pod, status=0, responses=of_queue("queue", "0")),
        ),
        scenario(
            "external",
            "no ready pods",
            state(
                spec(external("queue", total("30"))), all_pods=0, responses=of_queue("queue", "100")
            ),
        ),
    ]


def _odd_sums() -> list[Scenario]:
    value = state(spec(external("queue", total("100"))), responses=of_queue("queue", "-5"))
    per_pod = state(spec(external("queue", average("30"))), responses=of_queue("queue", "-5"))
    return [
        scenario("external", "a negative value", value),
        scenario("external", "a negative average counts as an overflow", per_pod),
        scenario(
            "external",
            "the order of mixed signs decides an average",
            state(spec(external("queue", average("30"))), responses=of_queue("queue", "-5", "100")),
            then(per_pod, responses=of_queue("queue", "100", "-5")),
        ),
        scenario(
            "external",
            "the order of mixed signs does not decide a value",
            state(spec(external("queue", total("100"))), responses=of_queue("queue", "-5", "165")),
            then(value, responses=of_queue("queue", "165", "-5")),
        ),
        scenario(
            "external",
            "a sum beyond every range",
            state(
                spec(external("queue", total("1"))), responses=of_queue("queue", BIGGEST, BIGGEST)
            ),
            then(value, responses=of_queue("queue", BIGGEST, "1", "-5")),
        ),
        scenario(
            "external",
            "an average of a sum beyond every range",
            state(
                spec(external("queue", average("1"))), responses=of_queue("queue", BIGGEST, BIGGEST)
            ),
            then(per_pod, responses=of_queue("queue", "1E")),
            then(per_pod, responses=of_queue("queue", "9223372036854775807")),
        ),
    ]


def _selectors() -> list[Scenario]:
    return [
        scenario(
            "external",
            "labels in messages",
            state(
                spec(external("queue", total("100"), SELECTOR)), responses=of_queue("queue", "160")
            ),
        ),
        scenario(
            "external",
            "expressions in messages",
            state(
                spec(external("queue", average("10"), EXPRESSIONS)),
                responses=of_queue("queue", "160"),
            ),
        ),
        scenario(
            "external",
            "an empty selector",
            state(spec(external("queue", average("10"), {})), responses=of_queue("queue", "160")),
        ),
        scenario(
            "external",
            "an invalid selector",
            state(
                spec(
                    external(
                        "queue",
                        total("10"),
                        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["1"]}]},
                    )
                ),
                responses=of_queue("queue", "160"),
            ),
        ),
    ]


def external_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_values(), *_odd_sums(), *_selectors())
