"""The same questions through kube-apiserver, as every real client asks: one program is registered after the other."""

from collections.abc import Callable, Sequence
from http import HTTPStatus

import msgspec

from testbed import register
from testbed.cluster import Cluster
from testbed.differential.adapter import sides
from testbed.differential.adapter.comparison import Seen, differences
from testbed.differential.adapter.deviations import explain
from testbed.differential.adapter.questions import CUSTOM, EXTERNAL, Question
from testbed.differential.adapter.sides import Answer, Side
from testbed.waiting import until

SERVED = ((CUSTOM, "v1beta1"), (CUSTOM, "v1beta2"), (EXTERNAL, "v1beta1"))


class Unlike(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was answered differently, and that no deviation explains."""

    question: Question
    differences: tuple[str, ...]


def suitable(questions: Sequence[Question], count: int) -> list[Question]:
    """The first that reach an adapter as they are: kube-apiserver itself answers odd paths and methods."""
    return [
        question
        for question in questions
        if question.method == "GET"
        and question.category.startswith(("custom", "external", "metric of"))
        and not {"option", "Accept"} & question.traits
        and "%" not in question.target.split("?")[0].replace("%2A", "")
    ][:count]


def compare(
    cluster: Cluster,
    both: Sequence[Side],
    questions: Sequence[Question],
    look: Callable[[Answer], Seen],
) -> list[Unlike]:
    """Ask all of the first, then all of the second; `look` decodes an answer."""
    theirs, ours = ([look(a) for a in _answers(cluster, side, questions)] for side in both)
    unlike = []
    for question, left, right in zip(questions, theirs, ours, strict=True):
        found = differences(left, right)
        if found and explain(question, left, right) is None:
            unlike.append(Unlike(question=question, differences=tuple(found)))
    return unlike


def _answers(cluster: Cluster, side: Side, questions: Sequence[Question]) -> list[Answer]:
    registered = [
        register.register_external_apiservice(cluster, group, version, side.port)
        for group, version in SERVED
    ]
    try:
        for name in registered:
            register.wait_until_available(cluster, name)
        with sides.aggregator(cluster, side.process) as through:
            until(lambda: _serves_all(through), what="all groups through kube-apiserver")
            return [through.ask(question) for question in questions]
    finally:
        for name in registered:
            register.unregister(cluster, name)


def _serves_all(through: Side) -> bool:
    asked = [Question(category="discovery", target=f"/apis/{g}/{v}") for g, v in SERVED]
    return all(through.ask(question).status == HTTPStatus.OK for question in asked)
