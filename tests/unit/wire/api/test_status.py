"""Failures as exceptions and as documents."""

import msgspec
import pytest

from wire.api import status
from wire.api.status import StatusDetails


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        pytest.param(status.bad_request("m"), 400, "BadRequest", id="400"),
        pytest.param(status.unauthorized("m"), 401, "Unauthorized", id="401"),
        pytest.param(status.forbidden("m"), 403, "Forbidden", id="403"),
        pytest.param(status.not_found("m"), 404, "NotFound", id="404"),
        pytest.param(status.method_not_allowed("m"), 405, "MethodNotAllowed", id="405"),
        pytest.param(status.conflict("m"), 409, "Conflict", id="409"),
        pytest.param(status.service_unavailable("m"), 503, "ServiceUnavailable", id="503"),
        pytest.param(
            status.failure(502, "m"), 502, "InternalError", id="a 5xx without a reason of its own"
        ),
        pytest.param(status.failure(418, "m"), 418, "", id="a 4xx without a reason of its own"),
    ],
)
def test_each_failure_has_its_code_and_reason(error, code, reason):
    document = error.to_status()
    assert (document.status, document.code, document.reason) == ("Failure", code, reason)
    assert document.message == str(error) == "m"


def test_an_error_survives_being_sent_and_received():
    error = status.not_found("no pods", StatusDetails(kind="pods", retry_after_seconds=3))
    came_back = status.from_response(404, msgspec.json.encode(error.to_status()))
    assert came_back.to_status() == error.to_status()
    assert not came_back.generic


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            b"<html>bad gateway", "the server responded with 502: <html>bad gateway", id="html"
        ),
        pytest.param(b"", "the server responded with 502: no message", id="nothing"),
        pytest.param(b"\xff\xfe", "the server responded with 502: \ufffd\ufffd", id="not text"),
        pytest.param(
            b'{"kind":"Pod"}', 'the server responded with 502: {"kind":"Pod"}', id="another kind"
        ),
        pytest.param(
            b'{"code":"x"}', 'the server responded with 502: {"code":"x"}', id="wrong types"
        ),
        pytest.param(b"x" * 999, "the server responded with 502: " + "x" * 200, id="too long"),
    ],
)
def test_a_response_without_a_status_is_quoted(body, message):
    error = status.from_response(502, body)
    assert (error.code, error.reason, error.message) == (502, "InternalError", message)
    assert error.generic


def test_an_error_carries_retry_after():
    assert status.Unavailable("no route", retry_after_seconds=2.5).retry_after_seconds == 2.5
    details = status.service_unavailable("busy", retry_after_seconds=2).details
    assert details is not None
    assert details.retry_after_seconds == 2


def test_a_long_message_of_another_server_is_cut():
    """It gets into the status of an object."""
    body = msgspec.json.encode({"kind": "Status", "message": "x" * 1_000_000, "code": 500})
    assert len(status.from_response(500, body).message) == status.MESSAGE_LENGTH_MAX
