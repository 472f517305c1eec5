"""A value may be a JSON number, as in Go (resource.Quantity.UnmarshalJSON), and keeps all of its digits."""

import msgspec
import pytest

from wire.api import custom_metrics, external_metrics, kube_json
from wire.api.resource_metrics import decode_pods

NUMBERS = ["5", "2.5", "1e3", "-1.50E-3", "0.12345678901234567890123", "123456789012345678901234"]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_its_text_in_every_metrics_api(number):
    external = external_metrics.decode(b'{"items":[{"value":%s}]}' % number.encode())
    newer = custom_metrics.decode(b'{"items":[{"value":%s}]}' % number.encode())
    older = custom_metrics.decode(
        b'{"apiVersion":"custom.metrics.k8s.io/v1beta1","items":[{"value":%s}]}' % number.encode()
    )
    pods = decode_pods(
        b'{"items":[{"containers":[{"name":"c","usage":{"cpu":%s,"memory":"1Gi"}}]}]}'
        % number.encode()
    )
    assert [each.items[0].value for each in (external, newer, older)] == [number] * 3
    assert pods.items[0].containers[0].usage == {"cpu": number, "memory": "1Gi"}


def test_numbers_and_texts_may_be_mixed_with_nulls():
    body = b'{"items":[{"metricLabels":null,"value":"5"},{"window":60,"value":2.5}]}'
    assert [each.value for each in external_metrics.decode(body).items] == ["5", "2.5"]


@pytest.mark.parametrize(
    "item", [b"{}", b'{"value":null}', b'{"value":true}', b'{"value":[5]}', b'{"value":{}}']
)
def test_a_missing_value_and_one_of_another_type_stay_errors(item):
    with pytest.raises(msgspec.DecodeError):
        external_metrics.decode(b'{"items":[' + item + b"]}")


@pytest.mark.parametrize("name", [b"5", b"2.5"])
def test_a_number_is_no_other_text(name):
    with pytest.raises(msgspec.DecodeError):
        external_metrics.decode(b'{"items":[{"metricName":' + name + b',"value":1}]}')


class Measured(msgspec.Struct):
    seconds: float
    names: list[str] = []


def test_other_numbers_are_read_unchanged():
    read = kube_json.decode(b'{"seconds":0.1,"names":[null],"other":1e999}', Measured)
    assert read == Measured(seconds=0.1, names=[""])
