"""A compact pod decides like the whole one, and pods of a template share what they have in common."""

from datetime import UTC, datetime

import msgspec
import pytest

from benchmarks.pod_memory import pod as kube_pod
from scaler.algorithm.observed import DELETION_COST, OWN_DELETION_COST, Pod, PodMetadata, PodStatus
from scaler.algorithm.pod_requests import pod_requests
from scaler.cluster.compact_pods import WITHOUT_ANNOTATIONS, PodCompactor
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
