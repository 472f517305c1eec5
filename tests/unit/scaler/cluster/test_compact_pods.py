"""A compact pod decides like the whole one, and pods of a template share what they have in common."""

from datetime import UTC, datetime

import msgspec
import pytest

from benchmarks.pod_memory import pod as kube_pod
from scaler.algorithm.observed import (
    DELETION_COST,
    OWN_DELETION_COST,
    Container,
    OwnerReference,
    Pod,
    PodAnnotations,
    PodMetadata,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from scaler.algorithm.pod_requests import pod_requests
from scaler.algorithm.unusable import MetricUnusable
from scaler.cluster.compact_pods import LABELS_MAX, WITHOUT_ANNOTATIONS, PodCompactor
from tests.traced_memory import traced_memory
from wire.api import kube_json


def decoded(number: int) -> Pod:
    """A pod as the API server sends it; a hundred have the same template."""
    return msgspec.convert(kube_pod(number), Pod)


def test_what_the_algorithm_reads_is_kept():
    whole = decoded(7)
    compact = PodCompactor().compact(whole)
    assert compact.metadata == msgspec.structs.replace(whole.metadata, creation_timestamp=None)
    assert compact.spec == whole.spec
    assert compact.status.phase == whole.status.phase
    assert compact.status.start_time == whole.status.start_time
    ready = [each for each in whole.status.conditions or () if each.type == "Ready"]
    assert list(compact.status.conditions or ()) == ready
    assert pod_requests([compact], resource="cpu", container="", pod_level_resources=True) == {
        whole.metadata.name: 600
    }


def test_pods_of_one_template_share_labels_and_containers():
    compactor = PodCompactor()
    first, second, other = (compactor.compact(decoded(number)) for number in (7, 8, 107))
    assert first.metadata.name != second.metadata.name
    assert first.metadata.labels is second.metadata.labels
    assert first.spec is second.spec
    assert other.metadata.labels is not first.metadata.labels


def test_nothing_is_kept_of_pods_that_are_gone():
    compactor = PodCompactor()
    first, second = (compactor.compact(decoded(number)) for number in (7, 8))
    del first
    assert len(compactor) == 3, "labels, owner and spec of the other one"
    is_shared = compactor.compact(decoded(9)).spec is second.spec
    assert is_shared
    del second
    assert len(compactor) == 0


def with_containers(count: int) -> PodSpec:
    cpu = ResourceRequirements(requests={"cpu": "1m"})
    return PodSpec(
        containers=tuple(Container(name=f"c{number}", resources=cpu) for number in range(count))
    )


@pytest.mark.deviation("pod-size")
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(Pod(metadata=PodMetadata(), spec=with_containers(5_000)), id="containers"),
        pytest.param(
            Pod(metadata=PodMetadata(labels={f"l{n}": "" for n in range(50_000)})), id="labels"
        ),
        pytest.param(
            Pod(
                metadata=PodMetadata(
                    owner_references=(OwnerReference(name="o" * 1_000_000, controller=True),)
                )
            ),
            id="owner",
        ),
        pytest.param(
            Pod(
                metadata=PodMetadata(annotations=PodAnnotations(own_deletion_cost="1" * 1_000_000))
            ),
            id="annotation",
        ),
    ],
)
def test_of_a_very_large_pod_little_is_kept(pod):
    compactor, encoded = PodCompactor(), msgspec.json.encode(pod)
    with traced_memory() as memory:
        compact = compactor.compact(msgspec.json.decode(encoded, type=Pod))
        kept_bytes = memory.kept_bytes
    assert kept_bytes < 100_000
    assert compact.metadata.name == pod.metadata.name


@pytest.mark.deviation("pod-size")
def test_the_requests_of_a_very_large_pod_are_not_known():
    metadata = PodMetadata(name="web-1", labels={"app": "web"})
    found = PodCompactor().compact(Pod(metadata=metadata, spec=with_containers(5_000)))
    assert found.metadata.labels == {"app": "web"}
    for container in ("", "c0"):
        with pytest.raises(MetricUnusable, match="the containers of Pod web-1 are too large"):
            pod_requests([found], resource="cpu", container=container, pod_level_resources=True)


def test_a_pod_with_a_hundred_containers_and_labels_is_kept():
    labels = {f"example.com/label-{number}": "x" * 63 for number in range(LABELS_MAX)}
    pod = Pod(metadata=PodMetadata(labels=labels), spec=with_containers(100))
    found = PodCompactor().compact(pod)
    assert (found.spec, found.metadata.labels) == (pod.spec, labels)


def test_a_pod_without_labels_containers_and_conditions_is_compacted():
    pod = msgspec.convert({"metadata": {"name": "a", "namespace": "shop"}}, Pod)
    assert PodCompactor().compact(pod) == pod


@pytest.mark.parametrize(
    ("started", "kept"),
    [pytest.param(True, False, id="started"), pytest.param(False, True, id="not")],
)
def test_the_creation_time_is_kept_while_there_is_no_start_time(started, kept):
    created = datetime(2026, 1, 1, tzinfo=UTC)
    pod = Pod(
        metadata=PodMetadata(name="web-1", creation_timestamp=created),
        status=PodStatus(start_time=created if started else None),
    )
    assert (PodCompactor().compact(pod).metadata.creation_timestamp is not None) is kept


def test_of_the_annotations_only_the_deletion_costs_are_kept():
    body = b'{"metadata": {"name": "web-1", "annotations": {"a": "b", "%s": "7", "%s": "-1"}}}'
    pod = kube_json.decode(body % (DELETION_COST.encode(), OWN_DELETION_COST.encode()), Pod)
    kept = PodCompactor().compact(pod).metadata.annotations
    assert (kept.deletion_cost, kept.own_deletion_cost) == ("7", "-1")
    bare = kube_json.decode(b'{"metadata": {"name": "web-1", "annotations": {"a": "b"}}}', Pod)
    assert PodCompactor().compact(bare).metadata.annotations is WITHOUT_ANNOTATIONS


def with_requests(number: int, *, cpu: str) -> Pod:
    """A pod whose containers have this request according to its node."""
    body = kube_pod(number)
    body["status"]["containerStatuses"] = [
        {"name": each["name"], "ready": True, "resources": {"requests": {**each["resources"]["requests"], "cpu": cpu}}}
        for each in body["spec"]["containers"]
    ]  # fmt: skip
    return msgspec.convert(body, Pod)


def test_applied_requests_are_kept_only_while_they_differ_from_the_spec():
    [whole] = {each.resources.requests["cpu"] for each in decoded(7).spec.containers[:1]}
    same, other = (
        PodCompactor().compact(with_requests(7, cpu=cpu)).status for cpu in (whole, "7777m")
    )
    assert "app" not in {each.name for each in same.container_statuses}
    found = {each.name: each.resources.requests["cpu"] for each in other.container_statuses}
    assert found == {each.name: "7777m" for each in decoded(7).spec.containers}
