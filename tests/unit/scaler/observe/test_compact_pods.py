"""A compact pod decides like the whole one, and pods of a template share what they have in common."""

import msgspec

from benchmarks.pod_memory import pod as kube_pod
from scaler.model.observed import Pod
from scaler.observe.compact_pods import PodCompactor
from scaler.recommend.requests import pod_requests


def decoded(number: int) -> Pod:
    """A pod as the API server sends it; a hundred have the same template."""
    return msgspec.convert(kube_pod(number), Pod)


def test_what_the_algorithm_reads_is_kept():
    whole = decoded(7)
    compact = PodCompactor().compact(whole)
    assert compact.metadata == whole.metadata
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
