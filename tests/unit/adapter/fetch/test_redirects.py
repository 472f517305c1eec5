"""A redirect of Prometheus is followed only without credentials: they are for one server."""

import pytest

from adapter.model import Plan
from adapter.ports import QueryFailed
from testbed.certificates import Authority
from tests.unit.adapter.fetch.canned import CannedServer, vector

PLAN = Plan('sum by (pod) (rate(x{a="b"}[1m]))')


@pytest.mark.deviation("redirects-with-credentials")
@pytest.mark.parametrize(
    "status", ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent"]
)
async def test_credentials_are_not_sent_to_the_address_to_which_a_server_redirects(
    server, connect, status
):
    client = connect(headers=(("X-Scope-OrgID", "a secret"),))
    async with CannedServer().listening() as other:
        head = f"HTTP/1.1 {status}\r\nLocation: http://me:pass@{other.address}/p?token=secret\r\n"
        server.says = f"{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
        with pytest.raises(QueryFailed) as failed:
            await client.evaluate(PLAN)
    assert other.requested == []
    assert (
        f"redirects to http://{other.address}/p, and a redirect is not followed"
        in failed.value.cause
    )
    assert "--prometheus-url" in failed.value.cause
    assert "secret" not in failed.value.cause
    assert "pass" not in failed.value.cause


def redirect_to(location: str, status: str = "307 Temporary Redirect") -> bytes:
    head = f"HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\n"
    return f"{head}Connection: close\r\n\r\n".encode()


@pytest.mark.deviation("redirects-with-credentials")
@pytest.mark.parametrize(
    "secret",
    [
        pytest.param({"headers": (("X-Api-Key", "s3cret"),)}, id="header"),
        pytest.param({"username": "me"}, id="user"),
        pytest.param({"url": "{url}?token=s3cret"}, id="parameter of the URL"),
    ],
)
async def test_a_redirect_is_not_followed_with_credentials(server, connect, secret):
    """aiohttp would send every header but Authorization to the other server, and all of them to another path."""
    async with CannedServer().listening() as other:
        server.says = redirect_to(f"{other.url}/elsewhere?token=s3cret")
        given = {name: _filled(value, server.url) for name, value in secret.items()}
        with pytest.raises(QueryFailed, match=f"redirects to {other.url}/elsewhere, ") as failed:
            await connect(**given).evaluate(PLAN)
        assert other.requested == []
    assert "s3cret" not in str(failed.value)


def _filled(value: object, url: str) -> object:
    return value.replace("{url}", url) if isinstance(value, str) else value


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_redirect_is_followed_without_credentials(server, connect, verb):
    """As prometheus-adapter does, for example to https."""
    async with CannedServer().listening() as other:
        other.says = vector(({"pod": "a"}, "1"))
        server.says = redirect_to(f"{other.url}/api/v1/query")
        assert len((await connect(verb=verb).evaluate(PLAN)).samples) == 1
        assert [each.method for each in other.requested] == [verb], "307 keeps the method"


async def test_a_redirect_is_followed_if_only_a_ca_is_named(server, connect, tmp_path):
    """A context without a client certificate has nothing that is for one server only."""
    ca = tmp_path / "ca.crt"
    ca.write_bytes(Authority("Prometheus").certificate)
    async with CannedServer().listening() as other:
        other.says = vector(({"pod": "a"}, "1"))
        server.says = redirect_to(f"{other.url}/api/v1/query")
        assert len((await connect(ca_file=ca).evaluate(PLAN)).samples) == 1


async def test_a_redirect_by_which_the_body_of_a_post_is_lost_is_an_error(server, connect):
    async with CannedServer().listening() as other:
        other.says = vector(({"pod": "a"}, "1"))
        server.says = redirect_to(f"{other.url}/api/v1/query?q=s3cret", "301 Moved Permanently")
        with pytest.raises(QueryFailed, match=f"redirects a POST to {other.url}/api") as failed:
            await connect(verb="POST").evaluate(PLAN)
    assert "s3cret" not in str(failed.value)
