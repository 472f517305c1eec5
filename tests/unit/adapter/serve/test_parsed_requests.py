"""Parsed requests are kept for 50,000 autoscalers, within a bound."""

import pytest

from adapter.serve.parsed_requests import ParsedRequests
from wire.api import external_metrics
from wire.api.status import StatusError

AUTOSCALERS = 50_000


def parsed(requests: ParsedRequests, number: int, selector: str = "app%3Dweb"):
    path = f"namespaces/n{number}/queue_length"
    return requests.parse(external_metrics.GROUP, "v1beta1", path, f"labelSelector={selector}")


def test_every_autoscaler_finds_its_request_again():
    requests = ParsedRequests()
    first = [parsed(requests, number) for number in range(AUTOSCALERS)]
    assert all(parsed(requests, number) is first[number] for number in range(AUTOSCALERS))


def test_requests_have_a_bound_in_bytes():
    requests = ParsedRequests(bytes_max=100_000)
    first = parsed(requests, 0)
    for number in range(1, 1_000):
        parsed(requests, number)
    assert len(requests) < 150
    assert parsed(requests, 0) is not first


def test_a_long_request_is_parsed_and_not_kept():
    requests = ParsedRequests(bytes_max=100_000)
    selector = ",".join(f"l{number}%3Dv" for number in range(20_000))
    assert parsed(requests, 1, selector).metric == "queue_length"
    assert len(requests) == 0


def test_an_invalid_request_is_refused_every_time():
    requests = ParsedRequests()
    for _ in range(2):
        with pytest.raises(StatusError):
            parsed(requests, 1, "a%3D%3D%3Db")
    assert len(requests) == 0
