"""What a pod requests: containers and sidecars, one container, or the pod as the scheduler sees it."""

import pytest

from scaler.algorithm.observed import Container, PodSpec, ResourceRequirements
from scaler.algorithm.pod_requests import pod_requests
from scaler.algorithm.unusable import MetricUnusable
from tests.unit.scaler.objects import container, pod

APP = container("app", cpu="1", memory="1Gi")
SIDECAR = container("proxy", restart_policy="Always", cpu="250m", memory="64Mi")
INIT = container("migrate", cpu="3")
LATE_INIT = container("warm", cpu="2900m")


def request_of(spec, *, resource="cpu", only="", pod_level_resources=True):
    found = pod_requests(
        (pod("a", spec=spec),),
        resource=resource,
        container=only,
        pod_level_resources=pod_level_resources,
    )
    return found["a"]


def pod_level(**requests):
    return ResourceRequirements(requests=requests)


@pytest.mark.parametrize(
    ("spec", "milli"),
    [
        pytest.param(PodSpec(containers=(APP, container("b", cpu="500m"))), 1500, id="containers"),
        pytest.param(PodSpec(containers=(APP,), init_containers=(SIDECAR,)), 1250, id="a sidecar"),
        pytest.param(PodSpec(containers=(APP,), init_containers=(INIT,)), 1000, id="init does not count"),
        pytest.param(PodSpec(containers=(APP,), overhead={"cpu": "1"}), 1000, id="overhead does not count"),
        pytest.param(
            PodSpec(containers=(APP,), resources=pod_level(**{"example.com/gpu": "1"})),
            1000,
            id="a pod-level request of another kind does not count",
        ),
        pytest.param(
            PodSpec(containers=(APP,), resources=pod_level(cpu="2"), overhead={"cpu": "50m"}),
            2050,
            id="pod-level request and overhead",
        ),
        pytest.param(
            PodSpec(containers=(APP,), resources=pod_level(memory="2Gi")),
            1000,
            id="pod-level memory only: containers' cpu",
        ),
        pytest.param(
            PodSpec(containers=(APP,), init_containers=(INIT,), resources=pod_level(memory="2Gi")),
            3000,
            id="pod-level memory only: an init container needs more",
        ),
        pytest.param(
            PodSpec(
                containers=(APP,),
                init_containers=(SIDECAR, LATE_INIT),
                resources=pod_level(memory="2Gi"),
            ),
            3150,
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            PodSpec(
                containers=(APP,), init_containers=(SIDECAR,), resources=pod_level(memory="2Gi")
            ),
            1250,
            id="pod-level memory only: a sidecar runs beside the containers",
        ),
        pytest.param(PodSpec(), 0, id="no containers at all"),
    ],
)  # fmt: skip
def test_the_request_of_a_pod(spec, milli):
    assert request_of(spec) == milli


def test_without_the_feature_a_pod_level_request_does_not_count():
    spec = PodSpec(containers=(APP,), resources=pod_level(cpu="2"))
    assert request_of(spec, pod_level_resources=False) == 1000


@pytest.mark.parametrize(("name", "milli"), [("app", 1000), ("proxy", 250)])
def test_one_container_counts_alone_even_when_the_pod_has_a_request(name, milli):
    spec = PodSpec(containers=(APP,), init_containers=(SIDECAR,), resources=pod_level(cpu="9"))
    assert request_of(spec, only=name) == milli


@pytest.mark.parametrize(
    ("spec", "only", "message"),
    [
        pytest.param(
            PodSpec(containers=(APP, container("b"))),
            "",
            "missing request for cpu in container b of Pod a",
            id="a container without a request",
        ),
        pytest.param(
            PodSpec(containers=(container("app", memory="1Gi"),)),
            "app",
            "missing request for cpu in container app of Pod a",
            id="the container without a request",
        ),
        pytest.param(
            PodSpec(containers=(APP,), init_containers=(INIT,)),
            "migrate",
            "container migrate not found in Pod a",
            id="an init container has no requests that count",
        ),
        pytest.param(
            PodSpec(containers=(container("app"),), resources=pod_level(memory="1Gi")),
            "",
            "missing pod-level request for cpu in Pod a",
            id="neither the pod nor its containers",
        ),
    ],
)
def test_a_missing_request_is_reported_with_its_container_and_pod(spec, only, message):
    with pytest.raises(MetricUnusable) as found:
        request_of(spec, only=only)
    assert found.value.message == message


@pytest.mark.deviation("one-pod-without-a-request")
def test_one_pod_without_a_request_breaks_the_metric_even_when_it_has_failed():
    bare = pod("b", phase="Failed", spec=PodSpec(containers=(container("app"),)))
    with pytest.raises(MetricUnusable):
        pod_requests((pod("a"), bare), resource="cpu", container="", pod_level_resources=True)


class CountedRequests(dict):
    """Requests that count how often they are read."""

    __slots__ = ()
    reads = 0

    def get(self, *key):
        type(self).reads += 1
        return super().get(*key)


def test_the_requests_of_pods_that_share_a_spec_are_added_up_once():
    """10,000 pods with 50 containers each took 0.4 s."""
    CountedRequests.reads = 0
    containers = tuple(
        Container(
            name=f"c{number}",
            resources=ResourceRequirements(requests=CountedRequests(cpu="100m")),
        )
        for number in range(50)
    )
    shared, other = PodSpec(containers=containers), PodSpec(containers=containers[:1])
    pods = (*(pod(f"web-{number}", spec=shared) for number in range(100)), pod("db-0", spec=other))
    found = pod_requests(pods, resource="cpu", container="", pod_level_resources=False)
    assert found == {each.metadata.name: 100 if each.spec is other else 5000 for each in pods}
    assert CountedRequests.reads == 51
