"""PURE  External metrics."""

from testbed.differential.scaler.scenarios.building import (
    average,
    external,
    of_queue,
    scenario,
    situation,
    spec,
    then,
    total,
)
from testbed.differential.scaler.scenarios.pods import EXPRESSIONS, SELECTOR
from testbed.differential.scaler.situation import Scenario

BIGGEST = "9223372036854775"


def _values() -> list[Scenario]:
    value = situation(spec(external("queue", total("100"))), answers=of_queue("queue", "100", "60"))
    per_pod = situation(spec(external("queue", average("30"))), answers=of_queue("queue", "150"))
    return [
        scenario(
            "external",
            "a value above, at and below the target",
            value,
            then(value, answers=of_queue("queue", "105")),
            then(value, answers=of_queue("queue", "10", "10")),
        ),
        scenario(
            "external",
            "an average above, at and below the target",
            per_pod,
            then(per_pod, answers=of_queue("queue", "151")),
            then(per_pod, answers=of_queue("queue", "31")),
            then(per_pod, answers=of_queue("queue", "0")),
        ),
        scenario(
            "external",
            "within the tolerance an average proposes what there is",
            situation(
                spec(external("queue", average("30"))),
                replicas=10,
                status=8,
                answers=of_queue("queue", "240"),
            ),
        ),
        scenario(
            "external",
            "an average of nothing that runs",
            situation(
                spec(external("queue", average("30"))), status=0, answers=of_queue("queue", "100")
            ),
            then(per_pod, status=0, answers=of_queue("queue", "0")),
        ),
        scenario(
            "external",
            "no ready pods",
            situation(
                spec(external("queue", total("30"))), all_pods=0, answers=of_queue("queue", "100")
            ),
        ),
    ]


def _odd_sums() -> list[Scenario]:
    value = situation(spec(external("queue", total("100"))), answers=of_queue("queue", "-5"))
    per_pod = situation(spec(external("queue", average("30"))), answers=of_queue("queue", "-5"))
    return [
        scenario("external", "a negative value", value),
        scenario("external", "a negative average counts as an overflow", per_pod),
        scenario(
            "external",
            "the order of mixed signs decides an average",
            situation(
                spec(external("queue", average("30"))), answers=of_queue("queue", "-5", "100")
            ),
            then(per_pod, answers=of_queue("queue", "100", "-5")),
        ),
        scenario(
            "external",
            "the order of mixed signs does not decide a value",
            situation(
                spec(external("queue", total("100"))), answers=of_queue("queue", "-5", "165")
            ),
            then(value, answers=of_queue("queue", "165", "-5")),
        ),
        scenario(
            "external",
            "a sum beyond every range",
            situation(
                spec(external("queue", total("1"))), answers=of_queue("queue", BIGGEST, BIGGEST)
            ),
            then(value, answers=of_queue("queue", BIGGEST, "1", "-5")),
        ),
        scenario(
            "external",
            "an average of a sum beyond every range",
            situation(
                spec(external("queue", average("1"))), answers=of_queue("queue", BIGGEST, BIGGEST)
            ),
            then(per_pod, answers=of_queue("queue", "1E")),
            then(per_pod, answers=of_queue("queue", "9223372036854775807")),
        ),
    ]


def _selectors() -> list[Scenario]:
    return [
        scenario(
            "external",
            "labels in messages",
            situation(
                spec(external("queue", total("100"), SELECTOR)), answers=of_queue("queue", "160")
            ),
        ),
        scenario(
            "external",
            "expressions in messages",
            situation(
                spec(external("queue", average("10"), EXPRESSIONS)),
                answers=of_queue("queue", "160"),
            ),
        ),
        scenario(
            "external",
            "an empty selector",
            situation(spec(external("queue", average("10"), {})), answers=of_queue("queue", "160")),
        ),
        scenario(
            "external",
            "a selector that is none",
            situation(
                spec(
                    external(
                        "queue",
                        total("10"),
                        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["1"]}]},
                    )
                ),
                answers=of_queue("queue", "160"),
            ),
        ),
    ]


def external_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_values(), *_odd_sums(), *_selectors())
