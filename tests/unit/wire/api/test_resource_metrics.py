"""What Go leaves out or writes as null in the usage of pods is nothing, not an error."""

import pytest

from wire.api.resource_metrics import decode_pods


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(b'{"metadata":{"name":"web"},"containers":null}', id="null containers"),
        pytest.param(b'{"metadata":{"name":"web"}}', id="no containers"),
    ],
)
def test_a_pod_without_containers_uses_nothing(pod):
    (read,) = decode_pods(b'{"items":[' + pod + b"]}").items
    assert (read.metadata.name, read.containers) == ("web", [])


def test_a_container_with_null_usage_does_not_take_the_list_down():
    body = b'{"items":[{"metadata":{"name":"web"},"containers":[{"name":"c","usage":null}]}]}'
    assert decode_pods(body).items[0].containers[0].usage == {}


def test_a_null_list_is_empty():
    assert decode_pods(b'{"metadata":{},"items":null}').items == []
