"""One Authorization header is sent, and which one: as net/http and client-go decide."""

import base64

import pytest

from adapter.model import Plan

PLAN = Plan("up")


def basic(secret: str) -> str:
    return f"Basic {base64.b64encode(secret.encode()).decode()}"


@pytest.fixture
async def sent(server, connect, tmp_path):
    """The Authorization headers of a request. `at`: user and password in the URL."""
    (tmp_path / "token").write_text("token")
    (tmp_path / "password").write_text("secret")

    async def of(*, at: str = "", files: tuple[str, ...] = (), **settings: object) -> list[str]:
        named = {f"{each}_file": tmp_path / each for each in files}
        client = connect(url=f"http://{at}{server.address}", **named, **settings)
        await client.evaluate(PLAN)
        head = server.requested[-1].lines
        return [line.split(": ", 1)[1] for line in head if line.lower().startswith("authorization")]

    return of


@pytest.mark.parametrize("name", ["Authorization", "authorization"])
@pytest.mark.parametrize(
    "credentials",
    [
        pytest.param({"files": ("token",)}, id="token"),
        pytest.param({"at": "me:secret@"}, id="user in the URL"),
        pytest.param({"username": "me", "files": ("password",)}, id="user"),
    ],
)
async def test_a_header_of_the_flags_replaces_that_of_the_credentials(sent, name, credentials):
    assert await sent(headers=((name, "Basic given"),), **credentials) == ["Basic given"]


async def test_an_empty_header_of_the_flags_is_replaced(sent):
    assert await sent(headers=(("authorization", ""),), files=("token",)) == ["Bearer token"]


async def test_a_header_that_is_given_twice_is_sent_twice_without_credentials(sent):
    given = (("Authorization", "a"), ("Authorization", "b"))
    assert await sent(headers=given, files=("token",)) == ["a", "b"]


async def test_the_user_of_the_url_has_priority_over_a_token(sent):
    assert await sent(at="me:secret@", files=("token",)) == [basic("me:secret")]


async def test_a_token_has_priority_over_a_user_of_the_flags(sent):
    assert await sent(username="me", files=("token", "password")) == ["Bearer token"]


@pytest.mark.parametrize(
    ("at", "expected"),
    [("me@", "me:"), ("me:@", "me:"), (":secret@", ":secret"), ("a%3Ab:c%40d@", "a:b:c@d")],
)
async def test_a_user_or_a_password_of_the_url_may_be_missing(sent, at, expected):
    assert await sent(at=at) == [basic(expected)]


async def test_a_password_file_completes_the_user_of_the_url(sent):
    assert await sent(at="me@", files=("password",)) == [basic("me:secret")]
