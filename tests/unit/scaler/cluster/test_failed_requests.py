"""The wording of a response without a Status is client-go's (apimachinery, NewGenericServerResponse)."""

import pytest

from scaler.cluster.failed_requests import worded
from wire.api.status import Unavailable, from_response

REQUEST = "(get pods.metrics.k8s.io)"


@pytest.mark.parametrize(
    ("code", "body", "message"),
    [
        pytest.param(
            404,
            b"404 page not found\n",
            f"the server could not find the requested resource {REQUEST}",
            id="a code with a text of its own",
        ),
        pytest.param(
            500,
            b'say "boom"\n',
            f'an error on the server ("say \\"boom\\"") has prevented the request from succeeding {REQUEST}',
            id="a server error",
        ),
        pytest.param(403, b"you may not", f"you may not {REQUEST}", id="403 quotes the server"),
        pytest.param(406, b"only protobuf", f"only protobuf {REQUEST}", id="406 quotes the server"),
        pytest.param(
            406,
            b"",
            f"the server was unable to respond with a content type that the client supports {REQUEST}",
            id="406 without a text",
        ),
        pytest.param(
            418,
            b"short and stout",
            f"the server responded with the status code 418 but did not return more information {REQUEST}",
            id="any other code",
        ),
    ],
)
def test_a_response_without_a_status_is_worded_as_by_client_go(code, body, message):
    error = from_response(code, body)
    assert worded(error, verb="get", resource="pods", group="metrics.k8s.io") == message


def test_a_server_error_quotes_text_of_two_kilobytes_and_nothing_else():
    def quoted(body: bytes, content_type: str) -> str:
        error = from_response(500, body, content_type)
        return worded(error, verb="get", resource="pods").split('"')[1]

    assert quoted(b"x" * 9999, "text/plain; charset=utf-8") == "x" * 2048
    assert quoted(b"boom", "") == "boom"
    assert quoted(b'{"error":"boom"}', "application/json") == "unknown"


def test_a_status_and_a_failed_connection_keep_their_own_message():
    status = from_response(404, b'{"kind":"Status","message":"no such metric","code":404}')
    assert worded(status, verb="get", resource="pods") == "no such metric"
    assert (
        worded(Unavailable("connection refused"), verb="get", resource="x") == "connection refused"
    )
