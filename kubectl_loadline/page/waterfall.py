"""Pure: a decision as a waterfall, from the value of each metric to the final count."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

import msgspec

from kubectl_loadline.decisions.metric_names import in_prometheus_words
from scaler.algorithm.bounds import SCALE_DOWN_LIMIT, SCALE_UP_LIMIT
from scaler.algorithm.decision import Branch
from scaler.algorithm.derivation import Bound, Derivation, MetricDerivation
from scaler.algorithm.extension import Extension
from scaler.algorithm.history import Extensions
from scaler.algorithm.stabilization import READY_FOR_NEW_SCALE
from scaler.algorithm.why import (
    bound_sentences,
    headline,
    metric_details,
    rate_sentence,
    remark_sentence,
    stabilization_sentence,
)

TITLES: Final[Mapping[str, str]] = {
    "rollout": "Rollout",
    "hottestRevision": "Busiest revision",
    "zero": "Scale to zero",
    "panic": "Panic",
    "futility": "Pods that do not become ready",
    "forecast": "Forecast",
    "candidate": "Candidate",
    "suspend": "Suspension",
}
"""The extensions that change a count, by their names."""
_PER_CENT: Final = 100.0
_MARK_WIDTH: Final = 0.8


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `before` is None where the bar begins at zero, `after` where there is no count."""

    title: str
    sentence: str = ""
    tone: str
    """`current`, `demand`, `change`, `desired` or `failed`: its colour."""
    before: int | None = None
    after: int | None = None
    decides: bool = False
    """Whether its proposal is the largest of several."""

    @property
    def is_change(self) -> bool:
        """Whether it could change a count that there was."""
        return self.before is not None


class Bar(msgspec.Struct, frozen=True):
    """Where a bar is, in percent of the width, and its colour."""

    x: float
    width: float
    tone: str


class Row(msgspec.Struct, frozen=True):
    """A step and its bar; None for no count."""

    step: Step
    bar: Bar | None


def waterfall(derivation: Derivation, extensions: Extensions) -> tuple[Row, ...]:
    """The rows, with bars of one scale."""
    found = tuple(_steps(derivation, extensions))
    counts = chain.from_iterable((each.before or 0, each.after or 0) for each in found)
    scale = max(1, *counts)
    return tuple(Row(each, _bar(each, scale)) for each in found)


def _bar(step: Step, scale: int) -> Bar | None:
    if step.after is None:
        return None
    after = step.after / scale * _PER_CENT
    if step.before is None:
        return Bar(0.0, max(after, _MARK_WIDTH), step.tone)
    before = step.before / scale * _PER_CENT
    if step.before == step.after:
        return Bar(min(after, _PER_CENT - _MARK_WIDTH), _MARK_WIDTH, "same")
    return Bar(min(before, after), abs(after - before), "up" if after > before else "down")


def _steps(derivation: Derivation, extensions: Extensions) -> Iterator[Step]:
    current, desired = derivation.current_replicas, derivation.desired_replicas
    yield Step(title="Current", tone="current", after=current)
    yield from _metrics(derivation)
    count = _largest(derivation)
    if (bound := _passed_bound(derivation)) is not None:
        name, count = bound
        sentence = f"{name} is {count}, so no metric is read."
        yield Step(title="Limits", sentence=sentence, tone="change", before=current, after=count)
    if derivation.proposed is not None and derivation.stabilization is not None:
        yield from _changed(derivation, extensions, count, derivation.proposed, _PROPOSING)
        yield _stabilization(derivation)
        count = derivation.stabilization.stabilized
    if derivation.bound is not None:
        yield from _changed(derivation, extensions, count, derivation.bound.before, _STABILIZED)
        yield from _bound(derivation.bound)
        count = derivation.bound.after
    if desired is not None:
        yield from _changed(derivation, extensions, count, desired, _LAST)
    yield _result(derivation)


def _metrics(derivation: Derivation) -> Iterator[Step]:
    several = sum(1 for each in derivation.metrics if not each.is_input) > 1
    for index, metric in enumerate(derivation.metrics):
        decides = several and index == derivation.winner
        yield Step(
            title=in_prometheus_words(metric.name or f"{metric.type} metric"),
            sentence=in_prometheus_words(metric_details(metric)),
            tone="failed" if _has_failed(metric) else "demand",
            after=None if metric.is_input else metric.proposal,
            decides=decides and derivation.desired_replicas is not None,
        )


def _has_failed(metric: MetricDerivation) -> bool:
    return bool(metric.failure) and metric.proposal is None


def _largest(derivation: Derivation) -> int | None:
    if derivation.winner is None:
        return None
    return derivation.metrics[derivation.winner].proposal


def _passed_bound(derivation: Derivation) -> tuple[str, int | None] | None:
    """The bound that the current count is beyond, where that decides; None otherwise."""
    match derivation.branch:
        case Branch.ABOVE_MAX:
            return "maxReplicas", derivation.max_replicas
        case Branch.BELOW_MIN:
            return "minReplicas", derivation.min_replicas
        case _:
            return None


def _stabilization(derivation: Derivation) -> Step:
    found = derivation.stabilization
    assert found is not None  # noqa: S101 - the caller has just checked
    if found.reason != READY_FOR_NEW_SCALE:
        sentence = stabilization_sentence(found, derivation).removeprefix("Stabilization: ")
        sentence = f"{sentence[:1].upper()}{sentence[1:]}"
    else:
        sentence = "No earlier recommendation changes it."
    return Step(
        title="Stabilization window",
        sentence=sentence,
        tone="change",
        before=found.recommended,
        after=found.stabilized,
    )


def _bound(bound: Bound) -> Iterator[Step]:
    by_policy = bound.reason in (SCALE_UP_LIMIT, SCALE_DOWN_LIMIT)
    count = bound.after if by_policy else bound.before
    sentence = "It does not limit this change."
    if bound.rate is not None:
        found = rate_sentence(bound.rate)
        sentence = f"{found[:1].upper()}{found[1:]}."
    yield Step(
        title="Scaling policy", sentence=sentence, tone="change", before=bound.before, after=count
    )
    limits = f"minReplicas is {bound.min_replicas} and maxReplicas {bound.max_replicas}."
    sentence = limits if by_policy else " ".join(bound_sentences(bound)) or limits
    yield Step(title="Limits", sentence=sentence, tone="change", before=count, after=bound.after)


_PROPOSING: Final = ("recommended", "recommendation")
_STABILIZED: Final = ("stabilized",)
_LAST: Final = ("bounded", "decided", "final")


def _changed(
    derivation: Derivation,
    extensions: Extensions,
    before: int | None,
    after: int,
    hooks: Sequence[str],
) -> Iterator[Step]:
    """What extensions made of a count, if it is another one now. `hooks`: those by which they could."""
    if before is None or before == after:
        return
    concerned = [each for each in extensions if _overrides(each, hooks)]
    acting = [each for each in concerned if _holds(derivation, each)]
    found = acting or [each for each in extensions if _holds(derivation, each)] or concerned
    sentences = [text for each in found for text in _sentences(derivation, each)]
    names = [TITLES.get(each.name, each.name) for each in found if _sentences(derivation, each)]
    if derivation.lifted_to_min and hooks == _LAST:
        sentences.append(f"From zero, it starts at minReplicas ({derivation.min_replicas}).")
    if derivation.held and hooks == _LAST:
        sentences.append(f"It is {derivation.held}.")
    yield Step(
        title=", ".join(names) or ("Held" if derivation.held else "Limits"),
        sentence=in_prometheus_words(" ".join(sentences)),
        tone="change",
        before=before,
        after=after,
    )


def _overrides(extension: Extension[object, object], hooks: Sequence[str]) -> bool:
    return any(getattr(type(extension), each) is not getattr(Extension, each) for each in hooks)


def _holds(derivation: Derivation, extension: Extension[object, object]) -> bool:
    """Whether it says itself that it changed the count."""
    step = derivation.steps.get(extension.name)
    if step is not None and extension.hold(step) is not None:
        return True
    return any(each.holds and each.condition in extension.conditions for each in derivation.remarks)


def _sentences(derivation: Derivation, extension: Extension[object, object]) -> list[str]:
    found = [
        remark_sentence(each)
        for each in derivation.remarks
        if each.condition in extension.conditions and (each.holds or each.active)
    ]
    step = derivation.steps.get(extension.name)
    said = extension.sentence(step, derivation.made_at_unix_seconds) if step is not None else None
    return [*found, said] if said else found


def _result(derivation: Derivation) -> Step:
    sentence = in_prometheus_words(headline(derivation))
    if derivation.is_dry_run:
        sentence += " In a dry run, nothing is carried out."
    if derivation.rescale_error:
        sentence += f" However, the scale could not be written: {derivation.rescale_error}."
    desired = derivation.desired_replicas
    return Step(
        title="Desired",
        sentence=f"{sentence[:1].upper()}{sentence[1:]}",
        tone="desired",
        after=derivation.current_replicas if desired is None else desired,
    )
