"""Which servers a token says that it is for. What it says may be anything."""

import base64
import json

import pytest

from wire.api.token_audiences import audiences_of


def token(claims: object) -> str:
    payload = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    return f"e30.{base64.urlsafe_b64encode(payload).decode().rstrip('=')}.c2ln"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(token({"aud": ["a", "b"]}), {"a", "b"}, id="a list"),
        pytest.param(token({"aud": "a"}), {"a"}, id="one"),
        pytest.param(token({"aud": ["\u00fc?>"]}), {"\u00fc?>"}, id="the URL alphabet"),
        pytest.param(token({}), set(), id="none"),
        pytest.param(token({"aud": 7}), set(), id="a number"),
        pytest.param(token(["aud"]), set(), id="no object"),
        pytest.param(token(b"\xff"), set(), id="not UTF-8"),
        pytest.param("e30.e.c2ln", set(), id="a length that base64 cannot have"),
        pytest.param("e30.!!!!.c2ln", set(), id="not base64"),
        pytest.param("a.ü.b", set(), id="not ASCII"),
        pytest.param(token(b'{"x":' + b"[" * 100_000), set(), id="nested too deeply"),
        pytest.param("opaque", set(), id="an opaque token"),
        pytest.param("", set(), id="empty"),
    ],
)
def test_the_audiences_are_those_of_the_payload(text, expected):
    assert audiences_of(text) == expected
