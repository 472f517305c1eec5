"""The server: errors, health, limits, certificates, shutdown."""

import asyncio
import json
import ssl

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from prometheus_client import CollectorRegistry

from testbed.certificates import Authority
from wire.process.readiness import Check
from wire.serving.access_guard import errors_to_status
from wire.serving.options import ServingConfigError, ServingOptions
from wire.serving.server import Delegates, Server

MASTER = ["system:masters"]


@pytest.fixture
def admin(world):
    return world.clients.client("admin", MASTER)


@pytest.mark.deviation("unknown-paths-are-refused")
async def test_an_unknown_path_is_the_404_of_the_generic_api_server(serve, admin):
    served = await serve()
    assert await served.get("/nowhere", pair=admin) == (404, "404 page not found\n")


async def test_another_method_is_405(serve, admin):
    served = await serve()
    code, body = await served.get("/version", pair=admin, method="POST")
    assert code == 405
    assert (
        json.loads(body)["message"]
        == "the server does not allow this method on the requested resource"
    )


async def test_an_unexpected_exception_is_a_plain_500_with_the_traceback_in_the_log(
    serve, admin, caplog
):
    served = await serve()
    code, body = await served.get("/fails", pair=admin)
    assert (code, json.loads(body)["reason"]) == (500, "InternalError")
    assert "secret" not in body
    assert "ZeroDivisionError: a secret" in caplog.text


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(web.HTTPBadRequest(text="no such unit"), "no such unit", id="with a text"),
        pytest.param(web.HTTPGone(text=""), "Gone", id="without one"),
    ],
)
async def test_an_error_of_the_http_server_has_its_text_in_the_status(error, message):
    async def handler(_):
        raise error

    response = await errors_to_status(make_mocked_request("GET", "/"), handler)
    status = json.loads(response.body)
    assert (response.status, status["code"]) == (error.status, error.status)
    assert status["message"] == message


@pytest.mark.deviation("own-version")
async def test_the_version_is_that_of_the_program(serve, admin):
    served = await serve()
    code, body = await served.get("/version", pair=admin)
    assert (code, json.loads(body)["gitVersion"]) == (200, "v1.2.3")


async def test_yaml_is_served_on_request(serve, admin):
    served = await serve()
    _, body = await served.get("/version", pair=admin, headers={"Accept": "application/yaml"})
    assert "gitVersion: v1.2.3" in body


@pytest.mark.deviation("no-protobuf")
async def test_a_client_that_accepts_only_protobuf_gets_406(serve, admin):
    served = await serve()
    accept = {"Accept": "application/vnd.kubernetes.protobuf"}
    code, body = await served.get("/version", pair=admin, headers=accept)
    assert (code, json.loads(body)["reason"]) == (406, "NotAcceptable")


async def test_a_url_with_a_very_long_selector_is_accepted(serve, admin):
    served = await serve()
    code, _ = await served.get(f"/version?labelSelector={'a' * 500_000}", pair=admin)
    assert code == 200


@pytest.mark.deviation("http-parsers")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(
            b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n" % (b"a" * 2_000_000), b"431", id="line"
        ),
        pytest.param(b"GET / HTTP/1.1\r\nX: %s\r\n\r\n" % (b"a" * 2_000_000), b"431", id="field"),
        pytest.param(b"\x00\x01 nonsense\r\n\r\n", b"400", id="nonsense"),
        pytest.param(b"BREW / HTTP/1.1\r\nHost: a\r\n\r\n", b"400", id="unknown method"),
        pytest.param(b"GET /healthz HTTP/1.1\nHost: a\n\n", b"400", id="bare line feeds"),
        pytest.param(b"GET /healthz HTTP/1.2\r\nHost: a\r\n\r\n", b"400", id="HTTP/1.2"),
        pytest.param(
            b"GET /healthz HTTP/1.1\r\n%s\r\n" % (b"X: a\r\n" * 5_000), b"400", id="many fields"
        ),
    ],
)
async def test_oversized_and_invalid_requests_get_a_status(serve, text, code):
    served = await serve()
    answer = await exchange(served.server.port, text)
    assert answer.startswith((b"HTTP/1.1 " + code, b"HTTP/1.0 " + code))
    assert b'"kind":"Status"' in answer
    assert (await served.get("/healthz"))[0] == 200


@pytest.mark.deviation("http-parsers")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"GET /healthz#x HTTP/1.1\r\nHost: a\r\n\r\n", id="a fragment"),
        pytest.param(b"GET /healthz\r\nHost: a\r\n\r\n", id="no version"),
        pytest.param(b"GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n", id="HTTP/2.0 without a preface"),
    ],
)
async def test_some_requests_that_gos_server_refuses_are_accepted(serve, text):
    served = await serve()
    assert (await exchange(served.server.port, text)).split(b" ")[1] == b"200"


async def exchange(port, text):
    """The begin of the response to these bytes."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    writer.write(text)
    response = await reader.read(2_000)
    writer.close()
    return response


async def test_readiness_names_the_failed_checks_and_shows_reasons_to_those_who_may_read_metrics(
    serve, admin, world
):
    problems = [""]
    checks = (Check("one", lambda: problems[0]), Check("other", lambda: problems[0]))
    served = await serve(ready=checks)
    assert await served.get("/readyz") == (200, "ok")
    assert (await served.get("/readyz?verbose"))[1] == (
        "[+]ping ok\n[+]shutdown ok\n[+]background-tasks ok\n[+]authentication-configuration ok\n[+]one ok\n[+]other ok\n"
        "readyz check passed\n"
    )
    problems[0] = "no route"
    assert await served.get("/readyz") == (
        500,
        (
            "[+]ping ok\n[+]shutdown ok\n[+]background-tasks ok\n[+]authentication-configuration ok\n"
            "[-]one failed: reason withheld\n[-]other failed: reason withheld\nreadyz check failed\n"
        ),
    )
    assert "[-]other failed: no route\n" in (await served.get("/readyz", pair=admin))[1]
    assert (await served.get("/readyz/other", pair=admin))[1].endswith(": no route\n")
    world.api.allowed.add(("scraper", "/metrics"))
    for user, is_shown in (("scraper", True), ("visitor", False)):
        _, body = await served.get("/readyz?verbose", pair=world.clients.client(user))
        assert ("no route" in body, "reason withheld" in body) == (is_shown, not is_shown)
    # The chart of prometheus-adapter has a liveness probe for /healthz.
    for path in ("/livez", "/healthz"):
        assert (await served.get(path))[0] == 200
        assert (await served.get(f"{path}/one", pair=admin))[0] == 404
    assert (await served.get("/readyz?exclude=one&exclude=other"))[0] == 200
    assert (await served.get("/readyz?verbose&exclude=other&exclude=one&exclude=x"))[1].endswith(
        'warn: some health checks cannot be excluded: no matches for "x"\nreadyz check passed\n'
    )
    assert (await served.get("/readyz/ping", pair=admin)) == (200, "ok")
    assert (await served.get("/readyz/one", pair=admin))[0] == 500
    assert (await served.get("/readyz/nothing", pair=admin))[0] == 404


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz"])
async def test_a_health_check_with_a_long_query_is_refused_before_it_is_read(serve, path):
    """Anyone may send it, and reading it would stop the event loop for half a second."""
    served = await serve()
    assert (await served.get(f"{path}?exclude=one{'&a' * 1_000}"))[0] == 200
    assert (await served.get(f"{path}?exclude=one{'&a' * 3_000}"))[0] == 414


async def test_a_check_that_informs_does_not_fail_readiness(serve, admin):
    news = Check("configuration", lambda: "line 3 is wrong", informs=True)
    served = await serve(ready=(news,))
    code, body = await served.get("/readyz?verbose")
    assert (code, "[!]configuration: reason withheld\n" in body) == (200, True)
    code, body = await served.get("/readyz?verbose", pair=admin)
    assert (code, "[!]configuration: line 3 is wrong\n" in body) == (200, True)
    assert "configuration" not in served.server.health.problems()


async def test_it_is_not_ready_before_it_can_authenticate_clients(world):
    world.api.published = {}
    server = Server(
        ServingOptions(secure_port=1), Delegates(world.api, world.api), registry=None, version="1"
    )
    assert "has not been read yet" in server.health.problems()["authentication-configuration"]


async def test_it_may_serve_without_the_authentication_of_the_cluster(world):
    """--authentication-tolerate-lookup-failure"""
    world.api.published = {}
    options = ServingOptions(secure_port=1, authentication_tolerate_lookup_failure=True)
    server = Server(options, Delegates(world.api, world.api), registry=None, version="1")
    assert "authentication-configuration" not in server.health.problems()


async def test_it_is_served_at_one_address_only(world):
    """--bind-address"""
    options = ServingOptions(secure_port=1, bind_address="127.0.0.2")
    registry = CollectorRegistry()
    delegates = Delegates(world.api, world.api)
    server = Server(options, delegates, registry=registry, version="1", drain_seconds=0.05)
    await server.start(port=0)
    try:
        _, writer = await asyncio.open_connection("127.0.0.2", server.port)
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.port)
    finally:
        await server.stop()


async def test_a_new_certificate_serves_new_connections(serve, tmp_path):
    authority = Authority("us")
    pair = authority.serving("first").write(tmp_path, "tls")
    served = await serve(
        ServingOptions(secure_port=1, tls_cert_file=pair[0], tls_private_key_file=pair[1])
    )
    assert await common_name(served) == "first"
    pair[0].write_bytes(b"half a new pair")
    assert served.server._tls.reload_if_changed() is False
    assert await common_name(served) == "first"
    authority.serving("second").write(tmp_path, "tls")
    assert served.server._tls.reload_if_changed() is True
    assert await common_name(served) == "second"


async def common_name(served):
    from cryptography import x509

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=tls)
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    subject = x509.load_der_x509_certificate(der).subject
    return subject.rfc4514_string().removeprefix("CN=")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"tls_cert_file": "x"}, "must be set together", id="half a pair"),
        pytest.param(
            {"tls_cert_file": "x", "tls_private_key_file": "y"}, "No such file", id="no file"
        ),
        pytest.param({"tls_cipher_suites": ("NONE",)}, "NONE not supported", id="a cipher suite"),
    ],
)
def test_an_unusable_flag_is_refused_by_name(options, message, tmp_path, world):
    from pathlib import Path

    given = {name: Path(v) if isinstance(v, str) else v for name, v in options.items()}
    with pytest.raises(ServingConfigError, match=message):
        Server(
            ServingOptions(secure_port=1, **given),
            Delegates(None, None),
            registry=None,
            version="1",
        )


async def test_a_port_in_use_is_reported_with_the_flag_to_change(serve, world):
    served = await serve()
    other = Server(
        ServingOptions(secure_port=served.server.port, bind_address="127.0.0.1"),
        Delegates(world.api, world.api),
        registry=None,
        version="1",
    )
    with pytest.raises(ServingConfigError, match="--secure-port"):
        await other.start()


async def test_shutdown_fails_readiness_and_closes_the_port(serve):
    served = await serve()
    await served.server.stop()
    assert "shutdown" in served.server.health.problems()
    with pytest.raises(aiohttp.ClientError):
        await served.get("/readyz")


def test_a_self_signed_pair_is_kept_in_the_folder(tmp_path):
    from wire.serving.tls import ServerTLS

    options = ServingOptions(secure_port=1, cert_dir=tmp_path / "certs")
    ServerTLS(options)
    first = (tmp_path / "certs" / "apiserver.crt").read_bytes()
    ServerTLS(options)
    assert (tmp_path / "certs" / "apiserver.crt").read_bytes() == first
    assert (tmp_path / "certs" / "apiserver.key").stat().st_mode & 0o077 == 0
