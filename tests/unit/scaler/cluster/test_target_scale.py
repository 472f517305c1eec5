"""Which Scale an autoscaler refers to, and how a missing one is reported."""

import pytest

from scaler.algorithm.observed import ScaleUnavailable, ScaleView
from scaler.algorithm.target_selector import SELECTOR_CHARACTERS_MAX, SELECTOR_COMMAS_MAX
from scaler.api.autoscaler import Autoscaler, AutoscalerSpec, CrossVersionObjectReference
from scaler.cluster.scales import Scales
from scaler.cluster.target_scale import TargetScale, read_scale
from tests.fakes.scaler import FakeKube, FakeMapper, resource
from wire.api.meta import ObjectMeta
from wire.api.status import StatusError, Unavailable, failure

DEPLOYMENTS = resource("apps", "v1", "deployments", "Deployment")
CONTROLLERS = resource("", "v1", "replicationcontrollers", "ReplicationController")
PATH = "/apis/apps/v1/namespaces/shop/deployments/web/scale"
SCALE = {
    "metadata": {"uid": "u1", "resourceVersion": "7"},
    "spec": {"replicas": 3},
    "status": {"replicas": 2, "selector": "app=web"},
}


def scaled(api_version: str = "apps/v1", kind: str = "Deployment", name: str = "web") -> Autoscaler:
    ref = CrossVersionObjectReference(api_version=api_version, kind=kind, name=name)
    return Autoscaler(
        metadata=ObjectMeta(namespace="shop", name="web"),
        spec=AutoscalerSpec(scale_target_ref=ref, max_replicas=5),
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "path"),
    [
        pytest.param("apps/v1", "Deployment", PATH, id="as written"),
        pytest.param("apps/v1beta1", "Deployment", PATH, id="only the group counts"),
        pytest.param(
            "v1",
            "ReplicationController",
            "/api/v1/namespaces/shop/replicationcontrollers/web/scale",
            id="core",
        ),
    ],
)
async def test_the_scale_is_read_where_discovery_says(api_version, kind, path):
    kube = FakeKube()
    kube.serve(path, SCALE)
    read = await read_scale(kube, FakeMapper(DEPLOYMENTS, CONTROLLERS), scaled(api_version, kind))
    assert isinstance(read, TargetScale)
    assert (read.path, read.uid) == (path, "u1")
    view = read.view
    assert (view.spec_replicas, view.status_replicas, view.selector) == (3, 2, "app=web")


@pytest.mark.parametrize(
    ("status", "selector"),
    [
        pytest.param({"selector": {"b": "2", "a": "1"}}, "a=1,b=2", id="labels"),
        pytest.param(
            {"selector": {"a": "1"}, "targetSelector": "a in (1,2)"}, "a in (1,2)", id="text"
        ),
        pytest.param({"selector": None}, "", id="nothing"),
    ],
)
async def test_the_scale_of_a_deployment_config_has_labels_instead_of_a_selector(status, selector):
    """extensions/v1beta1, as openshift-apiserver serves it."""
    kube = FakeKube()
    old = {**SCALE, "apiVersion": "extensions/v1beta1", "status": {"replicas": 2, **status}}
    kube.serve(PATH, old)
    read = await read_scale(kube, FakeMapper(DEPLOYMENTS), scaled())
    assert isinstance(read, TargetScale)
    assert (read.api_version, read.view.selector) == ("extensions/v1beta1", selector)


async def test_a_kind_that_became_known_meanwhile_is_found():
    kube = FakeKube()
    kube.serve(PATH, SCALE)
    read = await read_scale(kube, FakeMapper(CONTROLLERS, later=[DEPLOYMENTS]), scaled())
    assert isinstance(read, TargetScale)


async def test_the_first_mapping_that_answers_wins_and_the_first_ones_error_counts():
    """A kind whose plural changed between two versions has two places."""
    mapper = FakeMapper(DEPLOYMENTS, resource("apps", "v2", "deploys", "Deployment"))
    first, second = PATH, "/apis/apps/v2/namespaces/shop/deploys/web/scale"
    kube = FakeKube()
    kube.serve(second, SCALE)
    read = await read_scale(kube, mapper, scaled())
    assert isinstance(read, TargetScale)
    assert [path for path, _ in kube.requested] == [first, second]
    assert read.path == second
    kube.answers = {}
    missing = await read_scale(kube, mapper, scaled())
    assert isinstance(missing, ScaleUnavailable)
    assert missing.message == f"{first} not found"


GENERIC = StatusError("404 page not found", code=404, reason="NotFound", generic=True)


@pytest.mark.parametrize(
    ("autoscaler", "answer", "message", "context", "spec_error"),
    [
        pytest.param(
            scaled("a/b/c"),
            None,
            "unexpected GroupVersion string: a/b/c",
            "invalid API version in scale target reference",
            True,
            id="no apiVersion",
        ),
        pytest.param(
            scaled("example.com/v1", "Thing"),
            None,
            'no matches for kind "Thing" in group "example.com"',
            "unable to determine resource for scale target reference",
            False,
            id="unknown kind",
        ),
        pytest.param(
            scaled(),
            failure(404, 'deployments/scale.apps "web" not found'),
            'deployments/scale.apps "web" not found',
            "failed to query scale subresource for Deployment/shop/web",
            False,
            id="no such object",
        ),
        pytest.param(
            scaled(),
            GENERIC,
            "the server could not find the requested resource (get deployments web)",
            "failed to query scale subresource for Deployment/shop/web",
            False,
            id="no scale subresource",
        ),
        pytest.param(
            scaled(),
            Unavailable("connection refused"),
            "connection refused",
            "failed to query scale subresource for Deployment/shop/web",
            False,
            id="nothing there",
        ),
        pytest.param(
            scaled(),
            b"<html>",
            "the scale of deployments 'web' is malformed",
            "failed to query scale subresource for Deployment/shop/web",
            False,
            id="no JSON",
        ),
        pytest.param(
            scaled(),
            b'{"message": "ok"}',
            "the scale of deployments 'web' is malformed: the response is not a Scale: its kind is ''",
            "failed to query scale subresource for Deployment/shop/web",
            False,
            id="other JSON",
        ),
        pytest.param(
            scaled(),
            b'{"kind": "Status", "apiVersion": "v1", "status": "Success"}',
            "the scale of deployments 'web' is malformed: the response is not a Scale: its kind is 'Status'",
            "failed to query scale subresource for Deployment/shop/web",
            False,
            id="another kind",
        ),
    ],
)
async def test_a_missing_scale_is_reported_in_upstreams_words(
    autoscaler, answer, message, context, spec_error
):
    kube = FakeKube()
    if answer is not None:
        kube.answers[PATH] = answer
    found = await read_scale(kube, FakeMapper(DEPLOYMENTS), autoscaler)
    assert isinstance(found, ScaleUnavailable)
    assert found.message.startswith(message)
    assert (found.context, found.spec_error) == (context, spec_error)


async def test_a_scale_without_a_spec_has_zero_replicas_as_upstream():
    kube = FakeKube()
    kube.serve(PATH, {})
    found = await read_scale(kube, FakeMapper(DEPLOYMENTS), scaled())
    assert isinstance(found, TargetScale)
    assert found.view.spec_replicas == 0


async def test_a_name_cannot_leave_its_place_in_the_path():
    kube = FakeKube()
    await read_scale(kube, FakeMapper(DEPLOYMENTS), scaled(name="../secrets/x"))
    assert (
        kube.requested[0][0] == "/apis/apps/v1/namespaces/shop/deployments/..%2Fsecrets%2Fx/scale"
    )


PARSED = "received an object from a /scale endpoint which was not convertible to autoscaling Scale: failed to parse target selector: "


@pytest.mark.parametrize(
    ("selector", "read_as"),
    [
        pytest.param("app=web", "app=web", id="of one label"),
        pytest.param(
            " b == 2 , a in (y,x) ", "a in (x,y),b=2", id="written again in client-go's way"
        ),
        pytest.param("", "", id="none"),
    ],
)
async def test_the_selector_is_what_client_go_makes_of_it(selector, read_as):
    kube = FakeKube()
    kube.serve(PATH, {**SCALE, "status": {"replicas": 2, "selector": selector}})
    read = await read_scale(kube, FakeMapper(DEPLOYMENTS), scaled())
    assert isinstance(read, TargetScale)
    assert read.view.selector == read_as


@pytest.mark.deviation("spec-size")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("app in (".ljust(SELECTOR_CHARACTERS_MAX + 1, "v"), id="characters"),
        pytest.param("app in (" + "v," * (SELECTOR_COMMAS_MAX + 1), id="values"),
    ],
)
async def test_a_selector_that_is_too_long_to_be_used_is_not_parsed(text):
    kube = FakeKube()
    kube.serve(PATH, {**SCALE, "status": {"replicas": 2, "selector": text}})
    read = await read_scale(kube, FakeMapper(DEPLOYMENTS), scaled())
    assert isinstance(read, TargetScale)
    assert read.view.selector == text, "its missing parenthesis was not noticed"


async def test_the_longest_selector_that_can_be_used_is_parsed():
    text = "app in (".ljust(SELECTOR_CHARACTERS_MAX, "v")
    kube = FakeKube()
    kube.serve(PATH, {**SCALE, "status": {"replicas": 2, "selector": text}})
    assert isinstance(
        await read_scale(kube, FakeMapper(DEPLOYMENTS), scaled()), ScaleUnavailable
    ), "its missing parenthesis was not noticed"


def test_without_a_watch_no_version_of_a_target_is_known():
    target = TargetScale(path=PATH, uid="u1", view=ScaleView(spec_replicas=1))
    assert Scales(FakeKube(), FakeMapper(DEPLOYMENTS)).watched(target) is None


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param("app!=db", '"!=" is not a valid label selector operator', id="unequal"),
        pytest.param("app>1", '"gt" isn\'t supported in label selectors', id="greater"),
        pytest.param(
            "app in (web",
            'couldn\'t parse the selector string "app in (web": '
            "unable to parse requirement: found '', expected: ',' or ')'",
            id="no selector at all",
        ),
    ],
)
async def test_a_selector_that_client_go_does_not_take_hides_the_scale(selector, message):
    kube = FakeKube()
    kube.serve(PATH, {**SCALE, "status": {"replicas": 2, "selector": selector}})
    read = await read_scale(kube, FakeMapper(DEPLOYMENTS), scaled())
    assert isinstance(read, ScaleUnavailable)
    assert read.message == PARSED + message
