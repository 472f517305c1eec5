"""The media type of a response."""

import threading
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer, make_mocked_request

from wire.api.status import StatusError, bad_request
from wire.serving.rendering import (
    accepted_type,
    negotiated_type,
    respond,
    respond_with_error,
    yaml_of,
)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("", "application/json", id="no header"),
        pytest.param("*/*", "application/json", id="anything"),
        pytest.param("application/yaml", "application/yaml", id="yaml"),
        pytest.param(
            "application/yaml;q=0.5, application/json", "application/json", id="by weight"
        ),
        pytest.param(
            "application/json;q=0, application/yaml", "application/yaml", id="weight of nothing"
        ),
        pytest.param(
            "application/vnd.kubernetes.protobuf,application/json",
            "application/json",
            id="HPA's, for pods",
        ),
        pytest.param(
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            "application/json",
            id="kubectl get",
        ),
        pytest.param(
            "application/json;as=Table;v=v1;g=meta.k8s.io", None, id="a table and nothing else"
        ),
        pytest.param("application/vnd.kubernetes.protobuf", None, id="protobuf alone"),
        pytest.param("text/html", None, id="a page"),
        pytest.param("application/json;q=0", "application/json", id="weight of nothing, alone"),
        pytest.param("application/json;q=high", "application/json", id="a weight that is none"),
    ],
)
def test_the_accept_header_decides(accept, expected):
    assert accepted_type(accept) == expected


@pytest.mark.parametrize(
    ("query", "agent", "is_indented"),
    [
        ("", "kubectl", False),
        ("", "curl/8", True),
        ("pretty", "kubectl", False),
        ("pretty=", "curl/8", True),
        ("pretty=true", "kubectl", True),
        ("pretty=1", "kubectl", True),
        ("pretty=false", "curl/8", False),
        ("pretty=yes", "curl/8", False),
    ],
)
def test_a_response_is_indented_as_by_an_api_server(query, agent, is_indented):
    request = make_mocked_request("GET", f"/apis?{query}", headers={"User-Agent": agent})
    assert (b"\n  " in respond(request, {"a": {"b": 1}}).body) == is_indented


LARGE = {
    "kind": "APIResourceList",
    "resources": [
        {"name": f"pods/metric_{number}", "verbs": ["get"], "kind": "MetricValueList"}
        for number in range(5_000)
    ],
    "empty": [],
    "text": "a: b\n# c",
}


def test_yaml_of_a_large_document_is_that_of_the_whole():
    assert yaml_of(msgspec.json.encode(LARGE)) == msgspec.yaml.encode(LARGE)


@pytest.mark.parametrize("document", [[1, 2], [], {}, "a", 1, None, list(range(1_000))])
def test_yaml_of_any_document_reads_back(document):
    assert msgspec.yaml.decode(yaml_of(msgspec.json.encode(document))) == document


async def test_a_large_document_as_yaml_is_converted_in_small_parts_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
):
    """PyYAML keeps the interpreter's lock while it writes one part; 20,000 metrics at once took 1.2 s."""
    encode, parts = msgspec.yaml.encode, []

    def recorded(document: Any) -> bytes:
        parts.append((threading.get_ident(), len(document)))
        return encode(document)

    async def document(request: web.Request) -> web.Response:
        return respond(request, msgspec.json.encode(LARGE))

    monkeypatch.setattr(msgspec.yaml, "encode", recorded)
    app = web.Application()
    app.router.add_get("/", document)
    async with TestClient(TestServer(app)) as client:
        response = await client.get("/", headers={"Accept": "application/yaml"})
        assert response.content_type == "application/yaml"
        text = await response.text()
    assert msgspec.yaml.decode(text) == LARGE
    threads, sizes = zip(*parts, strict=True)
    assert threading.get_ident() not in threads
    assert max(sizes) <= 20
    assert sum(sizes) >= len(LARGE["resources"])


def test_an_accept_header_that_is_too_long_is_not_read():
    def accepted_by(text):
        return negotiated_type(make_mocked_request("GET", "/", headers={"Accept": text}))

    assert accepted_by("a," * 2_000 + "application/yaml") == "application/yaml"
    with pytest.raises(StatusError, match="the Accept header has 6016 characters") as refused:
        accepted_by("a," * 3_000 + "application/yaml")
    assert refused.value.code == 406


def test_the_status_of_a_request_whose_accept_header_is_too_long_is_json():
    request = make_mocked_request("GET", "/", headers={"Accept": "application/yaml" + "," * 5_000})
    response = respond_with_error(request, bad_request("no"))
    assert (response.status, response.content_type) == (400, "application/json")
