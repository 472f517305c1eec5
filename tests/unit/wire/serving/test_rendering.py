"""Which form an answer has."""

import pytest

from wire.serving.rendering import accepted_type


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
        pytest.param("application/json;q=high", None, id="a weight that is none"),
    ],
)
def test_the_accept_header_decides(accept, expected):
    assert accepted_type(accept) == expected
