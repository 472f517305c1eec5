"""Authorization over real TLS, and the text of a refusal."""

import json

import pytest

from tests.traced_memory import traced_memory
from tests.unit.wire.serving.conftest import FakeApiServer
from wire.api.status import StatusError, Unavailable, forbidden
from wire.serving.attributes import (
    ANONYMOUS,
    PARAMETERS_MAX,
    Attributes,
    User,
    attributes_of,
)
from wire.serving.authorization import UNCACHED_SIZE, Authorizer, refusal
from wire.serving.options import ServingOptions
from wire.serving.review_cache import DECISIONS_SIZE_MAX

METRIC = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/ns/pods/foo/hits"


async def test_a_resource_request_is_reviewed_with_its_attributes(serve, world):
    served = await serve()
    bob = world.clients.client("bob")
    code, body = await served.get(METRIC, pair=bob)
    assert code == 403
    assert json.loads(body) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'pods.custom.metrics.k8s.io "foo" is forbidden: User "bob" cannot get resource "pods/hits" '
        'in API group "custom.metrics.k8s.io" in the namespace "ns"',
        "reason": "Forbidden",
        "details": {"name": "foo", "group": "custom.metrics.k8s.io", "kind": "pods"},
        "code": 403,
    }
    assert world.api.reviews[0]["spec"]["resourceAttributes"] == {
        "namespace": "ns",
        "verb": "get",
        "group": "custom.metrics.k8s.io",
        "version": "v1beta1",
        "resource": "pods",
        "subresource": "hits",
        "name": "foo",
    }


async def test_an_authorized_decision_is_cached(serve, world):
    world.api.allowed.add(("bob", "/version"))
    served = await serve()
    bob = world.clients.client("bob")
    assert [(await served.get("/version", pair=bob))[0] for _ in range(3)] == [200] * 3
    assert len(world.api.reviews) == 1


@pytest.mark.parametrize(("ttl_seconds", "reviews"), [(10.0, 1), (0.0, 3)])
async def test_a_denied_decision_is_cached_as_long_as_the_flag_says(
    serve, world, ttl_seconds, reviews
):
    """--authorization-webhook-cache-unauthorized-ttl"""
    options = ServingOptions(secure_port=1, authorization_denied_cache_seconds=ttl_seconds)
    served = await serve(options)
    bob = world.clients.client("bob")
    assert [(await served.get("/version", pair=bob))[0] for _ in range(3)] == [403] * 3
    assert len(world.api.reviews) == reviews


async def test_system_masters_need_no_review(serve, world):
    served = await serve()
    admin = world.clients.client("admin", ["system:masters"])
    assert (await served.get("/version", pair=admin))[0] == 200
    assert world.api.reviews == []


async def test_anonymous_clients_can_read_health_and_nothing_else(serve):
    served = await serve()
    codes = {path: (await served.get(path))[0] for path in ("/healthz", "/metrics", "/nowhere")}
    assert codes == {"/healthz": 200, "/metrics": 403, "/nowhere": 403}


async def test_anonymous_clients_do_not_displace_the_decisions_on_others():
    reviews = FakeApiServer({})
    authorizer = Authorizer(reviews, monotonic=lambda: 0.0)

    async def ask(name, path):
        with pytest.raises(StatusError):
            await authorizer.authorize(User(name=name), Attributes(verb="get", path=path))

    await ask("bob", "/bob")
    size = UNCACHED_SIZE - 10
    for number in range(DECISIONS_SIZE_MAX // size + 1):
        await ask(ANONYMOUS, f"/{number:0>{size}}")
    before = len(reviews.reviews)
    await ask("bob", "/bob")
    assert len(reviews.reviews) == before, "it was still known"


class AllowsEverything:
    """An API server that says why."""

    async def create(self, path: str, body: bytes) -> bytes:
        reason = "RBAC: allowed by ClusterRoleBinding " + "x" * 100
        return json.dumps({"status": {"allowed": True, "reason": reason}}).encode()


async def test_the_decisions_on_one_user_take_no_more_memory_than_is_counted():
    """The front proxy sends the name and the groups with each request."""
    authorizer = Authorizer(AllowsEverything(), monotonic=lambda: 0.0)
    groups = [f"group-{number}".encode() for number in range(300)]
    paths = [f"/apis/g/v1/{'a' * 800}{number}\U0001f600".encode() for number in range(100)]

    async def ask(path):
        user = User(name="bob", groups=tuple(map(bytes.decode, groups)))
        await authorizer.authorize(user, attributes_of("GET", path.decode()))

    await ask(b"/first")
    before_counted = authorizer._decisions.size
    with traced_memory() as memory:
        for path in paths:
            await ask(path)
        kept_bytes = memory.kept_bytes
    assert kept_bytes <= 1.1 * (authorizer._decisions.size - before_counted)


@pytest.mark.deviation("reason-of-reviews")
async def test_a_failed_review_refuses_the_request(serve, world):
    served = await serve()
    world.api.failure = Unavailable("connection refused")
    code, body = await served.get("/version", pair=world.clients.client("bob"))
    assert (code, json.loads(body)["reason"]) == (503, "ServiceUnavailable")


async def test_a_refused_review_is_not_a_refusal_of_the_client(serve, world):
    served = await serve()
    world.api.failure = forbidden("subjectaccessreviews.authorization.k8s.io is forbidden")
    code, body = await served.get("/version", pair=world.clients.client("bob"))
    assert (code, json.loads(body)["reason"]) == (503, "ServiceUnavailable")
    assert "system:auth-delegator" in json.loads(body)["message"]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        pytest.param(
            Attributes(verb="get", path="/metrics"),
            'forbidden: User "bob" cannot get path "/metrics"',
            id="a path",
        ),
        pytest.param(
            attributes_of("GET", "/apis/custom.metrics.k8s.io/v1beta2/nodes/*/load"),
            'nodes.custom.metrics.k8s.io "*" is forbidden: User "bob" cannot get resource "nodes/load" '
            'in API group "custom.metrics.k8s.io" at the cluster scope',
            id="cluster scope",
        ),
        pytest.param(
            attributes_of("GET", "/api/v1/namespaces/a/pods"),
            'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "a"',
            id="the core group, a list",
        ),
        pytest.param(
            Attributes(verb="get", path="/a<b>"),
            'forbidden: User "bob" cannot get path "/a&lt;b&gt;"',
            id="what looks like HTML",
        ),
        pytest.param(
            Attributes(verb="get", path="/" + 9_999 * '"'),
            'forbidden: User "bob" cannot get path "/' + 999 * r"\"" + '"',
            id="a long path",
        ),
    ],
)
def test_a_refusal_has_upstreams_text(attributes, message):
    assert str(refusal(User(name="bob"), attributes)) == message


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        pytest.param("GET", "/apis", "", ("get", "", "", "", ""), id="discovery"),
        pytest.param("GET", "/apis/g/v1", "", ("get", "", "", "", ""), id="a version"),
        pytest.param("GET", "/healthz", "", ("get", "", "", "", ""), id="health"),
        pytest.param("POST", "/apis/g/v1/x", "", ("create", "x", "", "", ""), id="create"),
        pytest.param("GET", "/apis/g/v1/x", "", ("list", "x", "", "", ""), id="list"),
        pytest.param("GET", "/apis/g/v1/x", "watch=true", ("watch", "x", "", "", ""), id="watch"),
        pytest.param("DELETE", "/apis/g/v1/x", "", ("deletecollection", "x", "", "", ""), id="all"),
        pytest.param(
            "GET",
            "/apis/g/v1/x",
            "fieldSelector=metadata.name%3Da",
            ("list", "x", "", "a", ""),
            id="by field",
        ),
        pytest.param(
            "GET",
            "/apis/g/v1/x",
            "fieldSelector=metadata.name%3D..",
            ("list", "x", "", "", ""),
            id="by a field that names no object",
        ),
        pytest.param(
            "GET",
            "/apis/g/v1/x",
            "fieldSelector=metadata.name%3Da%2Fb",
            ("list", "x", "", "", ""),
            id="by a field with a slash",
        ),
        pytest.param(
            "GET",
            "/apis/g/v1/namespaces/n/metrics/m",
            "",
            ("get", "metrics", "n", "m", ""),
            id="of a namespace",
        ),
        pytest.param(
            "GET",
            "/apis/g/v1/namespaces/n",
            "",
            ("get", "namespaces", "n", "n", ""),
            id="a namespace",
        ),
        pytest.param(
            "GET",
            "/apis/g/v1/namespaces/n/status",
            "",
            ("get", "namespaces", "n", "n", "status"),
            id="its status",
        ),
        pytest.param(
            "GET", "/apis/g/v1/namespaces/n/hits", "", ("list", "hits", "n", "", ""), id="external"
        ),
        pytest.param(
            "GET",
            "/apis/g/v1/namespaces/n/pods/*/m/more",
            "",
            ("get", "pods", "n", "*", "m"),
            id="any further",
        ),
    ],
)
def test_the_attributes_of_a_path(method, path, query, expected):
    got = attributes_of(method, path, query)
    assert (got.verb, got.resource, got.namespace, got.name, got.subresource) == expected
    assert got.is_resource_request is bool(expected[1])


LIST = "/apis/custom.metrics.k8s.io/v1beta1/pods"


@pytest.mark.parametrize(
    ("query", "verb"),
    [
        pytest.param("x&" * (PARAMETERS_MAX - 1) + "watch=true", "watch", id="many others"),
        pytest.param("w%61tch=true", "watch", id="an escaped name"),
        pytest.param("".join(f"%{ord(each):x}" for each in "watch"), "watch", id="all escaped"),
        pytest.param("watch=%66alse", "list", id="an escaped value"),
        pytest.param("watch=", "watch", id="an empty value"),
        pytest.param("x=watch", "list", id="a value"),
        pytest.param("watches=true", "list", id="a longer name"),
        pytest.param("watch&watch=false", "watch", id="the first one counts"),
    ],
)
def test_only_the_parameters_of_a_list_that_count_are_read(query, verb):
    assert attributes_of("GET", LIST, query).verb == verb


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        pytest.param("metadata.name=a,metadata.name=b", "a", id="the first name"),
        pytest.param("metadata.namespace=x,metadata.name=a", "a", id="another field before"),
        pytest.param("x.metadata.name=b,metadata.name==a", "a", id="a longer field before"),
        pytest.param("metadata.name!=a", "", id="another name"),
        pytest.param("," * 8_000 + "metadata.name%3da", "a", id="many terms"),
    ],
)
def test_the_first_name_in_a_field_selector_is_the_name_of_the_object(fields, name):
    assert attributes_of("GET", LIST, f"fieldSelector={fields}").name == name


@pytest.mark.deviation("selector-size")
@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param(
            "&" * PARAMETERS_MAX, "the query has more than 1000 parameters", id="parameters"
        ),
        pytest.param(
            "fieldSelector=" + "," * 8_193,
            "the parameter fieldSelector has 8193 characters",
            id="fields",
        ),
        pytest.param(
            "w%61tch=" + "%31" * 9_000, "the parameter watch has 27000 characters", id="escapes"
        ),
    ],
)
def test_a_list_whose_parameters_take_long_to_read_is_refused(query, message):
    with pytest.raises(StatusError, match=message) as refused:
        attributes_of("GET", LIST, query)
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("configured", "path", "is_allowed"),
    [
        ("/healthz", "/healthz", True),
        ("healthz", "/healthz", True),
        ("healthz/*", "/healthz/ping", True),
        ("/healthz/*", "/healthz/ping", True),
        ("healthz", "/healthz/ping", False),
        ("*", "/metrics", True),
    ],
)
def test_a_slash_at_the_beginning_of_an_allowed_path_is_optional(configured, path, is_allowed):
    authorizer = Authorizer(None, always_allow_paths=(configured,))
    assert authorizer.is_always_allowed(Attributes(verb="get", path=path)) is is_allowed
