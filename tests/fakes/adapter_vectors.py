"""The cluster of the adapter's vectors, as in testbed/oracle/adapter/resources.go, and their decoded responses."""

from collections.abc import Mapping, Sequence

import msgspec

from adapter.model import BackendRef, Evaluation, ResultKind, Sample, Series
from tests.fakes.adapter import FakeMapping, Kind

VECTOR_KINDS: Sequence[Kind] = (
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


def vector_mapping() -> FakeMapping:
    """The resource mapping of that cluster."""
    return FakeMapping(VECTOR_KINDS)


def read_series(written: Mapping[str, Sequence[str] | None]) -> dict[tuple[str, str], list[Series]]:
    """Decode `name label,label` lines per selector to series by backend and selector."""
    found: dict[tuple[str, str], list[Series]] = {}
    for selector, lines in written.items():
        split = [line.partition(" ") for line in lines or ()]
        found[BackendRef(), selector] = [
            Series(name, frozenset(labels.split(","))) for name, _, labels in split
        ]
    return found


class _Row(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Response(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


def read_response(text: str) -> Evaluation:
    """Decode a Prometheus result of the vectors, evaluated at 1,000 seconds."""
    response = msgspec.json.decode(text, type=_Response)
    kind = ResultKind(response.result_type)
    samples: tuple[Sample, ...] = ()
    if kind is ResultKind.VECTOR:
        rows = msgspec.json.decode(response.result, type=list[_Row])
        samples = tuple(Sample(row.metric, float(row.value[1]), row.value[0]) for row in rows)
    elif kind is ResultKind.SCALAR:
        at_seconds, value = msgspec.json.decode(response.result, type=tuple[float, str])
        samples = (Sample({}, float(value), at_seconds),)
    return Evaluation(samples=samples, evaluated_at_seconds=1_000.0, kind=kind)
