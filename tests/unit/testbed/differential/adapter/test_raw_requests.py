"""The comparison of raw requests can fail: an error of the server and a wider access are never explained."""

import pytest

from testbed.differential.adapter.raw_requests import RawRequest, is_unexplained, random_requests


def request(*changes: str) -> RawRequest:
    return RawRequest(headers=[], changes=list(changes))


@pytest.mark.parametrize(
    ("upstream", "loadline", "changes", "unexplained"),
    [
        pytest.param("200", "200", (), False, id="equal"),
        pytest.param("404", "500", ("target b'*'",), True, id="an error of the server"),
        pytest.param("405", "400", ("method b'BREW'",), False, id="refused with another status"),
        pytest.param("200", "404", ("header b'Accept: x'",), True, id="refused without a reason"),
        pytest.param("200", "400", ("bare_lf None",), False, id="stricter parser"),
        pytest.param("403", "200", ("header b'X-Remote-User: root'",), True, id="more access"),
        pytest.param("505", "200", ("version b'HTTP/0.9'",), False, id="more tolerant parser"),
    ],
)
def test_a_difference_is_explained_only_by_name(upstream, loadline, changes, unexplained):
    assert is_unexplained(upstream, loadline, request(*changes)) is unexplained


def test_the_same_seed_makes_the_same_requests():
    first, second = ([each.encode() for each in random_requests(200, seed=3)] for _ in range(2))
    assert first == second
    assert len(set(first)) > 150
