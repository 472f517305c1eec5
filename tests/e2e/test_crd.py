"""A LoadAutoscaler is validated and defaulted exactly like an HPA.

The reference is the API server itself, of each supported Kubernetes version, with the feature gate HPAScaleToZero, which
LoadAutoscalers always have. Every case is sent to it as both kinds, as a dry run.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scaler.api.upstream import UPSTREAMS, Upstream
from testbed.assets import suffix_of
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions
from tests.e2e import crd_extension_cases, crd_pod_cases, crd_trial_cases
from tests.e2e.crd_cases import CPU, INVALID, VALID, Spec, external, selecting, spec, target, up
from wire.api.quantity import Quantity
from wire.api.status import StatusError
from wire.kube.client import KubeClient
from wire.kube.connection import connect

CRD = Path(__file__).parents[2] / "charts" / "scaler" / "files" / "crds" / "loadautoscalers.yaml"
ACCEPTED = crd_extension_cases.ACCEPTED | crd_pod_cases.ACCEPTED | crd_trial_cases.ACCEPTED
REFUSED = crd_extension_cases.REFUSED | crd_pod_cases.REFUSED | crd_trial_cases.REFUSED
HPA = ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
LA = ("loadline.io/v1beta1", "LoadAutoscaler", "loadautoscalers")


@pytest.fixture(scope="module", params=UPSTREAMS, ids=lambda upstream: f"1.{upstream.minor}")
def upstream(request: pytest.FixtureRequest) -> Upstream:
    """The version that the API server runs."""
    version: Upstream = request.param
    return version


@pytest.fixture(scope="module")
def cluster(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An API server with the LoadAutoscaler CRD and scaling to zero for HPAs; no other component runs."""
    options = ClusterOptions(
        kubernetes_suffix=suffix_of(f"1.{upstream.minor}"),
        controllers=(),
        scheduler=False,
        kwok=False,
        feature_gates=(("HPAScaleToZero", True),),
    )
    with Cluster(options, directory=tmp_path_factory.mktemp("crd")) as running:
        running.apply_crd(CRD.read_text())
        yield running


@pytest.fixture
async def kube(cluster: Cluster) -> AsyncIterator[KubeClient]:
    """A client of the API server."""
    client = KubeClient(await connect(cluster.kubeconfig, user_agent="test"))
    yield client
    await client.close()


@pytest.mark.parametrize("spec_", [pytest.param(s, id=name) for name, s in VALID.items()])
async def test_a_spec_that_is_valid_for_an_hpa_is_valid_and_equal_for_a_loadautoscaler(
    kube: KubeClient, spec_: Spec
) -> None:
    stored_hpa, stored_la = await dry_run(kube, HPA, spec_), await dry_run(kube, LA, spec_)
    assert normalized(stored_la["spec"]) == normalized(stored_hpa["spec"])


@pytest.mark.parametrize("spec_", [pytest.param(s, id=name) for name, s in INVALID.items()])
async def test_a_spec_that_is_invalid_for_an_hpa_is_invalid_for_a_loadautoscaler(
    kube: KubeClient, spec_: Spec
) -> None:
    for kind in (HPA, LA):
        with pytest.raises(StatusError) as refused:
            await dry_run(kube, kind, spec_)
        assert refused.value.code in (400, 422)


@pytest.mark.parametrize(
    ("spec_", "message"),
    [
        pytest.param(
            target(apiVersion="v1"),
            "spec.scaleTargetRef.apiVersion: Invalid value: apiVersion must specify API group, such as apps/v1",
            id="group",
        ),
        pytest.param(
            spec(minReplicas=11),
            "spec.maxReplicas: Invalid value: must be greater than or equal to `minReplicas`",
            id="bounds",
        ),
        pytest.param(
            spec(minReplicas=0, metrics=[CPU]),
            "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
            id="zero",
        ),
        pytest.param(
            spec(metrics=[{"type": "Object"}]),
            "spec.metrics[0].object: Required value: must populate information for the given metric source",
            id="source",
        ),
        pytest.param(
            external(type="Value", value="1", averageValue="1"),
            "spec.metrics[0].external.target: Forbidden: may not set both a target value for metric and a per-pod target",
            id="both",
        ),
        pytest.param(
            external(type="Value", value="0"),
            'spec.metrics[0].external.target.value: Invalid value: "0": must be positive',
            id="positive",
        ),
        pytest.param(
            selecting({"key": "shard", "operator": "In", "values": ["x" * 64]}),
            "selector.matchExpressions[0].values[0]: Too long: may not be more than 63 bytes",
            id="value that no label has",
        ),
        pytest.param(
            selecting({"key": "x" * 318, "operator": "Exists"}),
            "selector.matchExpressions[0].key: Too long: may not be more than 317 bytes",
            id="key that no label has",
        ),
    ],
)
async def test_a_validation_error_names_the_field_and_the_valid_values(
    kube: KubeClient, spec_: Spec, message: str
) -> None:
    with pytest.raises(StatusError) as refused:
        await dry_run(kube, LA, spec_)
    assert message in refused.value.message


REQUIRED, POSITIVE = "spec.maxReplicas: Required value", "must be greater than or equal to 1"
BELOW_MIN = "must be greater than or equal to `minReplicas`"
ZERO, NEGATIVE = "spec.maxReplicas: Invalid value: 0", "spec.maxReplicas: Invalid value: -1"
# What the API server says of an HPA, by the newest minor version that says so. From 1.37 on, these rules are declared with
# the types, and their errors come last.
OF_ZERO = {
    35: [f"{ZERO}: must be greater than 0", f"{ZERO}: {BELOW_MIN}"],
    36: [f"{REQUIRED}: must be set and greater than 0", f"{ZERO}: {BELOW_MIN}"],
    37: [f"{ZERO}: {BELOW_MIN}", REQUIRED],
}
BOUNDS = {
    "no max": OF_ZERO,
    "max 0": OF_ZERO,
    "a negative max": {
        35: [f"{NEGATIVE}: must be greater than 0", f"{NEGATIVE}: {BELOW_MIN}"],
        36: [f"{NEGATIVE}: {POSITIVE}", f"{NEGATIVE}: {BELOW_MIN}"],
        37: [f"{NEGATIVE}: {BELOW_MIN}", f"{NEGATIVE}: {POSITIVE}"],
    },
    "a negative min": {
        37: ["spec.minReplicas: Invalid value: -1: must be greater than or equal to 0"],
    },
    "max below min": {37: [f"spec.maxReplicas: Invalid value: 10: {BELOW_MIN}"]},
}


@pytest.mark.parametrize("name", BOUNDS)
async def test_a_wrong_bound_is_refused_for_the_same_fields_and_the_words_for_an_hpa_are_known(
    kube: KubeClient, upstream: Upstream, name: str
) -> None:
    of_hpa, of_la = (
        await refusals(kube, HPA, INVALID[name]),
        await refusals(kube, LA, INVALID[name]),
    )
    assert {field for field, _ in of_la} == {field for field, _ in of_hpa}
    known = BOUNDS[name][min(minor for minor in BOUNDS[name] if minor >= upstream.minor)]
    assert [f"{field}: {message}" for field, message in of_hpa] == known


async def refusals(
    kube: KubeClient, kind: tuple[str, str, str], spec_: Spec
) -> list[tuple[str, str]]:
    """The fields at fault and what is wrong, without the remark that other rules were not checked."""
    with pytest.raises(StatusError) as refused:
        await dry_run(kube, kind, spec_)
    assert refused.value.details
    causes = refused.value.details.causes
    return [(each.field, each.message) for each in causes if each.field != "<nil>"]


@pytest.mark.parametrize("spec_", [pytest.param(s, id=name) for name, s in ACCEPTED.items()])
async def test_a_spec_with_a_field_that_an_hpa_lacks_is_stored_as_written(
    kube: KubeClient, spec_: Spec
) -> None:
    stored = await dry_run(kube, LA, spec_)
    for name, value in spec_.items():
        assert contains(stored["spec"][name], value), name


@pytest.mark.deviation("one-described-object")
@pytest.mark.parametrize(
    ("spec_", "message"),
    [pytest.param(s, message, id=name) for name, (s, message) in REFUSED.items()],
)
async def test_a_spec_that_a_loadautoscaler_cannot_follow_is_refused(
    kube: KubeClient, spec_: Spec, message: str
) -> None:
    with pytest.raises(StatusError) as refused:
        await dry_run(kube, LA, spec_)
    assert message in refused.value.message


async def test_an_unquoted_fraction_is_the_only_spelling_that_only_an_hpa_accepts(
    kube: KubeClient,
) -> None:
    """A CRD schema cannot allow strings, integers and fractions in one field."""
    assert await dry_run(kube, HPA, up(tolerance=0.05))
    with pytest.raises(StatusError, match="tolerance in body must be of type integer,string"):
        await dry_run(kube, LA, up(tolerance=0.05))


def test_kubectl_shows_a_loadautoscaler_like_an_hpa(cluster: Cluster) -> None:
    cluster.apply(
        {
            "apiVersion": LA[0],
            "kind": LA[1],
            "metadata": {"name": "shown", "namespace": "default"},
            "spec": spec(minReplicas=2, mode="DryRun"),
        }
    )
    status = {
        "reference": "Deployment/web",
        "targets": "cpu: 40%/80%",
        "currentReplicas": 3,
        "desiredReplicas": 4,
        "currentMetrics": [{"type": ""}],
        "conditions": [{"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"}],
        "decision": {"summary": "why", "proposedReplicas": 4, "heldBy": "Suspended"},
        "history": {
            "recommendations": [{"replicas": 3, "sinceUnixSeconds": 1.5, "untilUnixSeconds": 16.5}],
            "scaledToZero": True,
        },
    }
    patch = msgspec.json.encode({"status": status}).decode()
    arguments = ("patch", "la", "shown", "--subresource=status", "--type=merge", "--patch", patch)
    cluster.kubectl(*arguments)
    stored = cluster.get("/apis/loadline.io/v1beta1/namespaces/default/loadautoscalers/shown")
    assert stored["status"] == status
    header, row = cluster.kubectl("get", "la").splitlines()
    assert header.split() == [
        "NAME",
        "REFERENCE",
        "TARGETS",
        "MINPODS",
        "MAXPODS",
        "REPLICAS",
        "DESIRED",
        "AGE",
    ]
    assert row.split()[:8] == ["shown", "Deployment/web", "cpu:", "40%/80%", "2", "10", "3", "4"]
    header, row = cluster.kubectl("get", "la", "--output=wide").splitlines()
    assert header.split()[-3:] == ["MODE", "SCHEDULE", "HELD"]
    assert row.split()[-2:] == ["DryRun", "Suspended"]
    assert "loadautoscaler.loadline.io/shown" in cluster.kubectl("get", "all", "--output=name")


async def dry_run(kube: KubeClient, kind: tuple[str, str, str], spec_: Spec) -> Any:
    """The object that the API server would store. Raises StatusError if it is invalid."""
    api_version, kind_name, plural = kind
    body = {
        "apiVersion": api_version,
        "kind": kind_name,
        "metadata": {"name": "web"},
        "spec": spec_,
    }
    path = f"/apis/{api_version}/namespaces/default/{plural}"
    return msgspec.json.decode(
        await kube.send("POST", path, body=msgspec.json.encode(body), params={"dryRun": "All"})
    )


def contains(stored: Any, written: Any) -> bool:
    """Whether everything that was written was stored; defaults may be added."""
    if isinstance(written, dict):
        return all(name in stored and contains(stored[name], written[name]) for name in written)
    if isinstance(written, list):
        return len(stored) == len(written) and all(map(contains, stored, written))
    return bool(stored == written)


def normalized(value: Any, name: str = "") -> Any:
    """Quantities in canonical form, and the default of an empty `metrics`, which a CRD schema cannot set."""
    if name == "metrics" and value == []:
        return [
            {
                **CPU,
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 80},
                },
            }
        ]
    if name in ("value", "averageValue", "tolerance") and isinstance(value, str | int):
        # A policy's `value` is a number in both kinds.
        return str(Quantity.parse(str(value)))
    if isinstance(value, dict):
        return {key: normalized(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [normalized(each) for each in value]
    return value
