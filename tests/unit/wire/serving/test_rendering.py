"""The media type of a response."""

import pytest
from aiohttp.test_utils import make_mocked_request

from wire.serving.rendering import accepted_type, check_representation
from wire.status import StatusError


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param(None, "application/json", id="no header"),
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
    "accept",
    [
        "*/*",
        "application/json;q=0",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "text/html, application/yaml",
        "application/vnd.kubernetes.protobuf",
    ],
)
def test_a_request_that_accepts_a_supported_type_proceeds(accept):
    check_representation(make_mocked_request("GET", "/apis", headers={"Accept": accept}))


@pytest.mark.parametrize("accept", ["text/html", "application/*", "application/cbor", "nonsense"])
def test_a_request_that_accepts_no_supported_type_ends_with_406(accept):
    request = make_mocked_request("GET", "/apis", headers={"Accept": accept})
    with pytest.raises(StatusError, match="Available representations: application/json") as refused:
        check_representation(request)
    assert refused.value.code == 406
