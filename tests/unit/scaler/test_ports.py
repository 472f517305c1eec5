"""What an answer without a Status is called: client-go's words (apimachinery, NewGenericServerResponse)."""

import pytest

from scaler.ports import worded
from wire.status import Unavailable, from_response

ASKED = "(get pods.metrics.k8s.io)"


@pytest.mark.parametrize(
    ("code", "body", "message"),
    [
        pytest.param(
            404,
            b"404 page not found\n",
            f"the server could not find the requested resource {ASKED}",
            id="a code with words of its own",
        ),
        pytest.param(
            500,
            b'say "boom"\n',
            f'an error on the server ("say \\"boom\\"") has prevented the request from succeeding {ASKED}',
            id="a failure of the server",
        ),
        pytest.param(403, b"you may not", f"you may not {ASKED}", id="a refusal keeps its text"),
        pytest.param(
            418,
            b"short and stout",
            f"the server responded with the status code 418 but did not return more information {ASKED}",
            id="any other code",
        ),
    ],
)
def test_an_answer_without_a_status_is_worded_as_by_client_go(code, body, message):
    error = from_response(code, body)
    assert worded(error, verb="get", resource="pods", group="metrics.k8s.io") == message


def test_a_status_and_a_missing_answer_keep_their_own_words():
    status = from_response(404, b'{"kind":"Status","message":"no such metric","code":404}')
    assert worded(status, verb="get", resource="pods") == "no such metric"
    assert (
        worded(Unavailable("connection refused"), verb="get", resource="x") == "connection refused"
    )
