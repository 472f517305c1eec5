"""Recorded pods are known by the names that controllers give them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.api.autoscaler import CrossVersionObjectReference
from scaler.cluster.forecast.pods_of_target import label_of_pods, name_pattern

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def target(kind="Deployment", name="web", api_version="apps/v1"):
    return CrossVersionObjectReference(kind=kind, name=name, api_version=api_version)


def is_pod_of(pod, of):
    return re.fullmatch(name_pattern(of), pod) is not None


@pytest.mark.parametrize(
    ("pod", "of"),
    [
        pytest.param("web-66b6c48dd5-7w8kz", target(), id="of a Deployment"),
        pytest.param("web-75675f5897-7cq4z", target(), id="of another template"),
        pytest.param("web-0", target("StatefulSet"), id="of a StatefulSet"),
        pytest.param("web-117", target("StatefulSet"), id="with more than ten replicas"),
        pytest.param("a.b-66b6c48dd5-7w8kz", target(name="a.b"), id="of a name with a dot"),
    ],
)
def test_the_pods_of_a_target_are_known(pod, of):
    assert is_pod_of(pod, of)


@pytest.mark.parametrize(
    ("pod", "of"),
    [
        pytest.param("web-api-66b6c48dd5-7w8kz", target(), id="of a Deployment with a longer name"),
        pytest.param("my-web-66b6c48dd5-7w8kz", target(), id="of one that ends like it"),
        pytest.param("web-migrate-7w8kz", target(), id="of a Job"),
        pytest.param("web-db-7w8kz", target(), id="of a DaemonSet without vowels"),
        pytest.param("web-0", target(), id="of a StatefulSet of the same name"),
        pytest.param(
            "web-66b6c48dd5-7w8kz", target("StatefulSet"), id="of a Deployment of the same name"
        ),
        pytest.param("web-db-0", target("StatefulSet"), id="of a StatefulSet with a longer name"),
        pytest.param("aXb-66b6c48dd5-7w8kz", target(name="a.b"), id="a dot is a dot"),
    ],
)
def test_the_pods_of_other_workloads_are_not(pod, of):
    assert not is_pod_of(pod, of)


def encoded(text):
    """Upstream's `rand.SafeEncodeString`."""
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in text.encode())


@given(checksum=st.integers(10**6, 2**32 - 1), suffix=st.text(ALPHABET, min_size=5, max_size=5))
def test_each_hash_of_a_pod_template_is_one(checksum, suffix):
    assert is_pod_of(f"web-{encoded(str(checksum))}-{suffix}", target())


@pytest.mark.parametrize(
    ("of", "problem"),
    [
        pytest.param(target("ReplicaSet"), "recorded pods of a ReplicaSet", id="a ReplicaSet"),
        pytest.param(
            target("Deployment", api_version="example.com/v1"),
            "the recorded pods of a",
            id="of another group",
        ),
        pytest.param(
            target("Rollout", api_version="argoproj.io/v1alpha1"), "a Rollout", id="a Rollout"
        ),
        pytest.param(target(name='web"}'), "is not the name of a Deployment", id="no name"),
        pytest.param(target(name="w" * 47), "longer than 46 characters", id="a long name"),
    ],
)
def test_a_target_whose_pods_cannot_be_known_says_why(of, problem):
    with pytest.raises(ValueError, match=problem):
        name_pattern(of)


NAMES = {"web-1", "web-2", "api-1"}


@pytest.mark.parametrize(
    ("rows", "label"),
    [
        pytest.param(
            [{"namespace": "shop", "pod": "web-1"}, {"namespace": "shop", "pod": "web-2"}],
            "pod",
            id="one label",
        ),
        pytest.param([{"name": "web-1"}], "name", id="one row"),
        pytest.param([{"pod": "web-1", "instance": "web-1"}], None, id="two labels"),
        pytest.param(
            [{"pod": "web-1", "c": "a"}, {"pod": "web-1", "c": "b"}], None, id="two rows of one pod"
        ),
        pytest.param([{"pod": "web-1"}, {"pod": "web-9"}], None, id="a pod that was not requested"),
        pytest.param([{"pod": "web-1"}, {}], None, id="a row without it"),
        pytest.param([], None, id="no rows"),
    ],
)
def test_the_label_of_pods_names_another_one_in_each_row(rows, label):
    assert label_of_pods(rows, NAMES) == label
