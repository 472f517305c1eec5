"""The cluster of the adapter's vectors, as testbed/oracle/adapter/resources.go has it, and its answers decoded."""

from collections.abc import Mapping, Sequence

import msgspec

from adapter.model import Evaluation, ResultKind, Sample, Series
from tests.fakes.adapter import FakeMapping, Kind

PEER_KINDS: Sequence[Kind] = (
    Kind("pods", "pod", "Pod"),
    Kind("services", "service", "Service"),
    Kind("namespaces", "namespace", "Namespace", namespaced=False),
    Kind("nodes", "node", "Node", namespaced=False),
    Kind("persistentvolumes", "persistentvolume", "PersistentVolume", namespaced=False),
    Kind("deployments", "deployment", "Deployment", group="apps"),
    Kind("jobs", "job", "Job", group="batch"),
    Kind("ingresses", "ingress", "Ingress", group="networking.k8s.io"),
    Kind("policies", "policy", "Policy", group="example.com", version="v1alpha1"),
)


def peer_mapping() -> FakeMapping:
    """The cluster's resources."""
    return FakeMapping(PEER_KINDS)


def read_series(written: Mapping[str, Sequence[str] | None]) -> dict[tuple[str, str], list[Series]]:
    """`name label,label` per selector to series, by backend and selector."""
    found: dict[tuple[str, str], list[Series]] = {}
    for selector, lines in written.items():
        split = [line.partition(" ") for line in lines or ()]
        found["default", selector] = [
            Series(name, frozenset(labels.split(","))) for name, _, labels in split
        ]
    return found


class _Row(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Answer(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


def read_answer(text: str) -> Evaluation:
    """A Prometheus result, as the vectors write it, evaluated at 1,000 seconds."""
    answer = msgspec.json.decode(text, type=_Answer)
    kind = ResultKind(answer.result_type)
    samples: tuple[Sample, ...] = ()
    if kind is ResultKind.VECTOR:
        rows = msgspec.json.decode(answer.result, type=list[_Row])
        samples = tuple(Sample(row.metric, float(row.value[1]), row.value[0]) for row in rows)
    elif kind is ResultKind.SCALAR:
        at_seconds, value = msgspec.json.decode(answer.result, type=tuple[float, str])
        samples = (Sample({}, float(value), at_seconds),)
    return Evaluation(samples=samples, evaluated_at_seconds=1_000.0, kind=kind)
