"""The user of a request, over real TLS."""

import asyncio
import base64
import json
import ssl

import aiohttp
import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from testbed.certificates import Authority, KeyPair
from testbed.waiting import until
from tests.unit.wire.serving.conftest import OWN_AUDIENCE
from wire.api.status import StatusError, Unavailable, forbidden
from wire.serving.authentication import TOKEN_LENGTH_MAX, Authenticator
from wire.serving.connection_shares import Group
from wire.serving.options import RequestHeaderFlags, ServingOptions
from wire.serving.review_cache import ENTRY_BYTES, UNKNOWN_TOKENS_SIZE_MAX
from wire.serving.review_queue import ADDRESS_MAX
from wire.serving.trust import TrustSource

PROXIED = {
    "X-Remote-User": "alice",
    "X-Remote-Uid": "42",
    "X-Remote-Group": "dev",
    "X-Remote-Extra-Scopes%2fall": "view",
}


async def name_of(served, **how):
    code, body = await served.get("/who", **how)
    return (code, json.loads(body).get("name") or json.loads(body)["message"])


async def test_a_request_without_credentials_is_anonymous(serve):
    served = await serve()
    code, body = await served.get("/who")
    assert (code, json.loads(body)["groups"]) == (200, ["system:unauthenticated"])


async def test_the_front_proxy_names_the_user_in_headers(serve, world):
    served = await serve()
    code, body = await served.get("/who", pair=world.proxies.client("front-proxy"), headers=PROXIED)
    assert code == 200
    assert json.loads(body) == {
        "name": "alice",
        "uid": "42",
        "groups": ["dev", "system:authenticated"],
        "extra": {"scopes/all": ["view"]},
    }


async def test_a_user_of_the_front_proxy_without_groups_is_authenticated_all_the_same(serve, world):
    """So is the user with which kube-apiserver reads the discovery of an API without an aggregated document."""
    served = await serve()
    headers = {"X-Remote-User": "system:kube-aggregator"}
    _, body = await served.get("/who", pair=world.proxies.client("front-proxy"), headers=headers)
    assert json.loads(body)["groups"] == ["system:authenticated"]


async def test_the_anonymous_user_of_the_front_proxy_is_not_authenticated(serve, world):
    """As AuthenticatedGroupAdder of k8s.io/apiserver."""
    served = await serve()
    headers = {"X-Remote-User": "system:anonymous"}
    _, body = await served.get("/who", pair=world.proxies.client("front-proxy"), headers=headers)
    assert json.loads(body)["groups"] == []


async def test_the_headers_of_other_clients_are_ignored(serve, world):
    served = await serve()
    assert await name_of(served, headers=PROXIED) == (200, "system:anonymous")
    assert await name_of(served, headers=PROXIED, pair=world.clients.client("eve")) == (200, "eve")


async def test_a_proxy_with_a_name_that_is_not_allowed_is_refused(serve, world):
    served = await serve()
    pair = world.proxies.client("not-the-front-proxy")
    assert await name_of(served, headers=PROXIED, pair=pair) == (401, "Unauthorized")


async def test_a_client_certificate_names_user_and_groups(serve, world):
    served = await serve()
    code, body = await served.get("/who", pair=world.clients.client("bob", ["ops", "dev"]))
    assert code == 200
    user = json.loads(body)
    assert (user["name"], set(user["groups"])) == ("bob", {"ops", "dev", "system:authenticated"})


async def test_a_client_may_send_the_intermediate_that_signed_its_certificate(serve, world):
    intermediate = Authority("intermediate", issuer=world.clients)
    pair = intermediate.client("bob")
    chain = KeyPair(certificate=pair.certificate + intermediate.certificate, key=pair.key)
    code, body = await (await serve()).get("/who", pair=chain)
    assert (code, json.loads(body)["name"]) == (200, "bob")


async def test_a_serving_certificate_does_not_authenticate_a_client(serve, world):
    served = await serve()
    with pytest.raises(aiohttp.ClientError):
        # OpenSSL itself checks the usage.
        await served.get("/who", pair=world.clients.serving("bob"))


@pytest.mark.deviation("unknown-client-authorities")
async def test_a_certificate_of_an_unknown_ca_fails_the_handshake(serve):
    served = await serve()
    with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
        await served.get("/who", pair=Authority("unknown").client("bob"))


async def test_a_removed_ca_is_no_longer_trusted(serve, world, tmp_path):
    """OpenSSL still trusts it; the authenticator uses the newest file."""
    ca_file = tmp_path / "ca.crt"
    ca_file.write_bytes(world.clients.certificate)
    options = ServingOptions(
        secure_port=1,
        client_ca_file=ca_file,
        authorization_always_allow_paths=("/who",),
    )
    served = await serve(options)
    bob = world.clients.client("bob")
    assert (await name_of(served, pair=bob))[0] == 200
    newcomers = Authority("newcomers")
    ca_file.write_bytes(newcomers.certificate)
    served.server._trust.reread_files()
    assert await name_of(served, pair=bob) == (401, "Unauthorized")
    assert await name_of(served, pair=newcomers.client("carol")) == (200, "carol")


async def test_flags_override_the_clusters_configuration(serve, tmp_path):
    proxies = Authority("other-proxies")
    ca_file = tmp_path / "proxy-ca.crt"
    ca_file.write_bytes(proxies.certificate)
    served = await serve(
        ServingOptions(
            secure_port=1,
            authorization_always_allow_paths=("/who",),
            requestheader=RequestHeaderFlags(client_ca_file=ca_file, username_headers=("X-Who",)),
        )
    )
    pair = proxies.client("any name will do")
    assert await name_of(served, pair=pair, headers={"x-who": "dave"}) == (200, "dave")


@pytest.mark.deviation("limits-before-authentication")
async def test_a_token_that_is_too_long_is_refused_without_a_review(serve, world):
    served = await serve()
    code, message = await name_of(served, headers=bearer("a" * (TOKEN_LENGTH_MAX + 1)))
    assert (code, world.api.reviews) == (401, [])
    assert "longer than 65536 bytes" in message
    assert (await name_of(served, headers=bearer("a" * TOKEN_LENGTH_MAX)))[0] == 401
    assert len(world.api.reviews) == 1


async def test_garbage_does_not_delay_the_reviews_of_accepted_tokens(serve, world):
    world.api.users_by_token["good"] = {"username": "robot"}
    served = await serve(
        ServingOptions(
            secure_port=1,
            authentication_token_cache_seconds=0.0,
            authorization_always_allow_paths=("/who",),
        )
    )
    assert await name_of(served, headers=bearer("good")) == (200, "robot")
    world.api.reviews_garbage.clear()
    waiting = [
        asyncio.create_task(name_of(served, headers=bearer(f"garbage-{number}")))
        for number in range(ADDRESS_MAX + 10)
    ]
    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert {(await each)[0] for each in done} == {429}
    assert await name_of(served, headers=bearer("good")) == (200, "robot")
    world.api.reviews_garbage.set()
    codes = [(await each)[0] for each in waiting]
    assert (codes.count(401), codes.count(429)) == (ADDRESS_MAX, 10)
    garbage = [each for each in world.api.reviews if each["spec"]["token"] != "good"]
    assert len(garbage) == ADDRESS_MAX


async def test_garbage_does_not_displace_accepted_tokens(world):
    world.api.users_by_token["good"] = {"username": "robot"}
    trust = TrustSource(ServingOptions(secure_port=1, authentication_skip_lookup=True), None)
    authenticator = Authenticator(trust, world.api, token_cache_seconds=600.0)

    async def is_accepted(token):
        try:
            return (await authenticator.identify((), headers(token))).name == "robot"
        except StatusError:
            return False

    async def garbage(first):
        for number in range(first, first + UNKNOWN_TOKENS_SIZE_MAX // ENTRY_BYTES):
            assert not await is_accepted(f"garbage-{number}")

    assert await is_accepted("good")
    await garbage(0)
    assert await is_accepted("good")
    reviews = len(world.api.reviews)
    await garbage(1_000_000)
    assert await is_accepted("good")
    assert len(world.api.reviews) == reviews + UNKNOWN_TOKENS_SIZE_MAX // ENTRY_BYTES


def headers(token):
    return CIMultiDictProxy(CIMultiDict(bearer(token)))


async def test_what_anonymous_clients_ask_does_not_delay_authenticated_ones(serve, world):
    world.api.allowed.add(("bob", "/version"))
    served = await serve(ServingOptions(secure_port=1, authorization_always_allow_paths=()))
    world.api.reviews_garbage.clear()
    waiting = [asyncio.create_task(served.get(f"/{number}")) for number in range(ADDRESS_MAX + 10)]
    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert {(await each)[0] for each in done} == {429}
    assert (await served.get("/version", pair=world.clients.client("bob")))[0] == 200
    world.api.reviews_garbage.set()
    assert {(await each)[0] for each in waiting} == {403, 429}


async def test_connections_of_known_clients_do_not_count_as_those_of_unknown_ones(serve, world):
    world.api.users_by_token["good"] = {"username": "robot"}
    served = await serve()
    shares = served.server._listener._connections.shares

    async def group_of(headers, pair=None):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        if pair is not None:
            tls.load_cert_chain(*pair.write(served.folder, "known"))
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session,
            session.get(f"{served.base}/who", headers=headers),
        ):
            return [group for group in Group if shares.size_bytes(group)]

    assert await group_of({}) == [Group.UNKNOWN]
    await no_connections(shares)
    assert await group_of(bearer("garbage")) == [Group.UNKNOWN]
    await no_connections(shares)
    assert await group_of(bearer("good")) == [Group.AUTHENTICATED]
    await no_connections(shares)
    assert await group_of({}, world.clients.client("bob")) == [Group.VERIFIED]


async def no_connections(shares):
    await asyncio.to_thread(until, lambda: not len(shares), what="the end of the connection")


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


async def test_the_review_of_a_token_is_cached(serve, world):
    world.api.users_by_token["good"] = {"username": "robot", "groups": ["g"], "extra": {"k": ["v"]}}
    served = await serve()
    for _ in range(3):
        code, body = await served.get("/who", headers={"Authorization": "Bearer good"})
        assert (code, json.loads(body)["extra"]) == (200, {"k": ["v"]})
    assert len(world.api.reviews) == 1


ADAPTER = "adapter.monitoring.svc"
WITH_AUDIENCE = ServingOptions(
    secure_port=1, authorization_always_allow_paths=("/who",), api_audiences=(ADAPTER,)
)


def issued(world, *audiences: str) -> str:
    """A token of `robot` for these audiences; what is not its payload has no meaning here."""
    claims = base64.urlsafe_b64encode(json.dumps({"aud": audiences}).encode()).decode().rstrip("=")
    token = f"e30.{claims}.c2ln"
    world.api.users_by_token[token] = {"username": "robot"}
    world.api.audiences_by_token[token] = set(audiences)
    return token


async def test_a_token_for_this_server_alone_is_accepted_and_reviewed_for_it(serve, world):
    served = await serve(WITH_AUDIENCE)
    assert await name_of(served, headers=bearer(issued(world, ADAPTER))) == (200, "robot")
    assert [each["spec"]["audiences"] for each in world.api.reviews] == [[ADAPTER]]


async def test_tokens_for_the_api_server_are_still_reviewed_without_an_audience(serve, world):
    world.api.users_by_token["opaque"] = {"username": "robot"}
    served = await serve(WITH_AUDIENCE)
    for token in ("opaque", issued(world, OWN_AUDIENCE)):
        assert await name_of(served, headers=bearer(token)) == (200, "robot")
    assert all("audiences" not in each["spec"] for each in world.api.reviews)


@pytest.mark.parametrize("options", [None, WITH_AUDIENCE], ids=["no audience", "an audience"])
async def test_a_token_for_another_server_is_refused(serve, world, options):
    served = await serve(options)
    headers = bearer(issued(world, "other.monitoring.svc"))
    assert await name_of(served, headers=headers) == (401, "Unauthorized")


async def test_a_user_of_an_authenticator_that_ignores_the_audience_is_refused(serve, world):
    """It would authenticate a token that was issued for another server."""
    world.api.knows_audiences = False
    served = await serve(WITH_AUDIENCE)
    headers = bearer(issued(world, ADAPTER))
    assert await name_of(served, headers=headers) == (401, "Unauthorized")


async def test_an_unknown_token_is_refused(serve):
    served = await serve()
    assert await name_of(served, headers={"Authorization": "Bearer bad"}) == (401, "Unauthorized")


async def test_a_refused_review_is_503_and_names_the_missing_right(serve, world):
    served = await serve()
    world.api.failure = forbidden("tokenreviews.authentication.k8s.io is forbidden")
    code, message = await name_of(served, headers={"Authorization": "Bearer good"})
    assert code == 503
    assert "system:auth-delegator" in message


@pytest.mark.deviation("reason-of-reviews")
async def test_a_token_that_cannot_be_reviewed_is_503_with_the_cause(serve, world):
    served = await serve()
    world.api.failure = Unavailable("POST reviews: connection refused")
    code, message = await name_of(served, headers={"Authorization": "Bearer good"})
    assert code == 503
    assert "connection refused" in message
    world.api.failure = None
    assert (await name_of(served, headers={"Authorization": "Bearer good"}))[0] == 401


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(b"\xff", id="not UTF-8"),
        pytest.param("größe".encode(), id="UTF-8"),
        pytest.param(b"\xed\xa0\x80", id="half a surrogate"),
        pytest.param(b"a" * 100_000, id="100 kB"),
    ],
)
async def test_any_bytes_as_a_token_are_401(serve, token, caplog):
    served = await serve()
    head = await raw_response(served, b"Authorization: Bearer " + token)
    assert head.startswith(b"HTTP/1.1 401 "), head
    assert "Traceback" not in caplog.text


async def test_a_user_name_that_is_not_utf_8_is_read_as_gos_json_writes_it(serve, world):
    served = await serve()
    pair = world.proxies.client("front-proxy")
    headers = b"X-Remote-User: a\xffb\r\nX-Remote-Group: g\xff\r\nX-Remote-Extra-k: v\xff"
    body = await raw_response(served, headers, pair=pair)
    assert body.startswith(b"HTTP/1.1 200 "), body
    user = json.loads(body.partition(b"\r\n\r\n")[2])
    assert (user["name"], user["groups"][0]) == ("a\ufffdb", "g\ufffd")
    assert user["extra"] == {"k": ["v\ufffd"]}


async def raw_response(served, headers: bytes, *, pair=None) -> bytes:
    """The response to bytes that no client library would send."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    if pair is not None:
        tls.load_cert_chain(*pair.write(served.folder, "raw"))
    reader, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=tls)
    writer.write(b"GET /who HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + headers + b"\r\n\r\n")
    response = await reader.read()
    writer.close()
    return response
