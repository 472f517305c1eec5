"""The rows of a shared evaluation that belong to one request.

An evaluation is indexed once, by the labels of its plan (`key_labels`). A request then costs what its own rows cost, and not
what the rows of all requests cost.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter

import msgspec

from adapter.model import Evaluation, Plan, Rows, Sample

Key = tuple[str, ...]
Index = dict[Key, Sequence[Sample]]

ROWS_PER_SLICE = 2_000
"""Rows that are indexed at a time: about a millisecond."""


def filled(by_key: Index, evaluation: Evaluation, labels: Sequence[str]) -> Iterator[None]:
    """Fill the index with the rows of an evaluation, and pause after each slice of them."""
    key_of = _key_of(labels)
    for begin in range(0, len(evaluation.samples), ROWS_PER_SLICE):
        for sample in evaluation.samples[begin : begin + ROWS_PER_SLICE]:
            key = key_of(sample.labels)
            known = by_key.get(key)
            if known is None:
                # Most keys have one row. The garbage collector stops following a tuple of texts and samples.
                by_key[key] = (sample,)
            elif isinstance(known, list):
                known.append(sample)
            else:
                by_key[key] = [*known, sample]
        yield


def _key_of(labels: Sequence[str]) -> Callable[[Mapping[str, str]], Key]:
    """The values of the labels; a label that a row does not have is empty, as in Prometheus."""

    def with_gaps(of: Mapping[str, str]) -> Key:
        return tuple([of.get(label, "") for label in labels])

    if len(labels) < 2:
        return with_gaps
    values = itemgetter(*labels)

    def key(of: Mapping[str, str]) -> Key:
        try:
            found: Key = values(of)
        except KeyError:
            return with_gaps(of)
        return found

    return key


def indexed(evaluation: Evaluation, labels: Sequence[str]) -> Evaluation:
    """The evaluation with its index, without pauses."""
    if not labels:
        return evaluation
    by_key: Index = {}
    for _ in filled(by_key, evaluation, labels):
        pass
    return msgspec.structs.replace(evaluation, by_key=by_key)


def selected(
    evaluation: Evaluation, plan: Plan, rows: Rows, names: Sequence[str] = ()
) -> Evaluation:
    """The evaluation with the rows of the request only, in the order of the names; unchanged for a plan of its own."""
    if not plan.key_labels:
        return evaluation
    values = tuple(value for _, value in rows.where)
    keys = [(name, *values) for name in names] if rows.object_label else [values]
    found = [sample for key in keys for sample in evaluation.by_key.get(key, ())]
    return msgspec.structs.replace(evaluation, samples=tuple(found), by_key={})


def without_labels(evaluation: Evaluation, labels: Sequence[str]) -> Evaluation:
    """The evaluation without these labels of its rows."""
    if not labels:
        return evaluation
    samples = tuple(
        msgspec.structs.replace(
            sample,
            labels={name: value for name, value in sample.labels.items() if name not in labels},
        )
        for sample in evaluation.samples
    )
    return msgspec.structs.replace(evaluation, samples=samples)


def has_one_row_per_object(evaluation: Evaluation, rows: Rows) -> bool:
    """Of several rows for one object the last one counts, so their order would matter."""
    names = [sample.labels.get(rows.object_label, "") for sample in evaluation.samples]
    return len(names) == len(set(names))
