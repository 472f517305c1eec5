"""Which CAs and proxies are trusted while the configuration is wrong, incomplete or changing."""

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from testbed.certificates import Authority
from tests.deadline import DEADLINE_SECONDS
from wire.serving.options import (
    ALWAYS_ALLOWED,
    RequestHeaderFlags,
    ServingConfigError,
    ServingOptions,
)
from wire.serving.server import Delegates, Server

ALICE = {"X-Remote-User": "alice"}
WHO = (*ALWAYS_ALLOWED, "/who")


async def user_of(served, **how) -> str:
    code, body = await served.get("/who", **how)
    return json.loads(body)["name"] if code == 200 else str(code)


def options_with(**more) -> ServingOptions:
    return ServingOptions(secure_port=1, authorization_always_allow_paths=WHO, **more)


MALFORMED = [
    pytest.param("front-proxy", id="not JSON"),
    pytest.param('"front-proxy"', id="a string"),
    pytest.param('{"names": ["front-proxy"]}', id="an object"),
    pytest.param("[1]", id="a list of numbers"),
]


@pytest.mark.parametrize("names", MALFORMED)
async def test_malformed_allowed_names_do_not_allow_every_name(serve, world, names):
    world.api.published["requestheader-allowed-names"] = names
    served = await serve(wait=False)
    for name in ("front-proxy", "eve"):
        with pytest.raises(aiohttp.ClientError):
            await served.get("/who", pair=world.proxies.client(name), headers=ALICE)
    code, body = await served.get("/readyz")
    assert code == 500
    assert "[-]authentication-configuration failed" in body
    problem = served.server.health.problems()["authentication-configuration"]
    assert "requestheader-allowed-names" in problem


@pytest.mark.parametrize("names", MALFORMED)
async def test_names_that_become_malformed_leave_the_former_ones(serve, world, names):
    served = await serve()
    trust = served.server._trust
    trust._configured(None, world.config_map(names))
    proxy = world.proxies.client("front-proxy")
    assert await user_of(served, pair=proxy, headers=ALICE) == "alice"
    assert await user_of(served, pair=world.proxies.client("eve"), headers=ALICE) == "401"
    assert (await served.get("/readyz"))[0] == 200


@pytest.mark.parametrize("names", ["[]", "null", None])
async def test_an_empty_list_of_names_allows_every_name(serve, world, names):
    """As upstream: the API server publishes it when --requestheader-allowed-names is not set."""
    world.api.published["requestheader-allowed-names"] = names
    if names is None:
        del world.api.published["requestheader-allowed-names"]
    served = await serve()
    assert await user_of(served, pair=world.proxies.client("eve"), headers=ALICE) == "alice"


@pytest.mark.parametrize("key", ["client-ca-file", "requestheader-client-ca-file"])
async def test_a_published_ca_that_cannot_be_read_fails_readiness(serve, world, key):
    world.api.published[key] = "nonsense"
    served = await serve(wait=False)
    problem = served.server.health.problems()["authentication-configuration"]
    assert f"ConfigMap kube-system/extension-apiserver-authentication, {key}" in problem


@pytest.mark.parametrize("flag", ["--client-ca-file", "--requestheader-client-ca-file"])
@pytest.mark.parametrize("content", [None, b"", b"nonsense"])
def test_a_ca_file_that_cannot_be_used_refuses_to_start(world, tmp_path, flag, content):
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_bytes(content)
    given = {"client_ca_file": file}
    if flag == "--requestheader-client-ca-file":
        given = {"requestheader": RequestHeaderFlags(client_ca_file=file)}
    with pytest.raises(ServingConfigError, match=f"{flag} {file}"):
        Server(options_with(**given), Delegates(world.api, world.api), registry=None, version="1")


async def test_an_intermediate_is_a_trust_anchor_as_in_go(serve, tmp_path):
    intermediate = Authority("intermediate", issuer=Authority("root"))
    file = tmp_path / "ca.crt"
    file.write_bytes(intermediate.certificate)
    served = await serve(options_with(client_ca_file=file))
    assert await user_of(served, pair=intermediate.client("bob")) == "bob"


def glued(*authorities: Authority) -> bytes:
    return b"".join(authority.certificate.rstrip(b"\n") for authority in authorities)


async def test_a_bundle_without_newlines_between_certificates_is_read(serve, world, tmp_path):
    file = tmp_path / "ca.crt"
    file.write_bytes(world.clients.certificate)
    served = await serve(options_with(client_ca_file=file))
    newcomers = Authority("newcomers")
    file.write_bytes(glued(world.clients, newcomers))
    served.server._trust.reread_files()
    for authority in (world.clients, newcomers):
        assert await user_of(served, pair=authority.client("bob")) == "bob"


async def test_a_bundle_that_cannot_be_read_leaves_the_former_one(serve, world, tmp_path, caplog):
    file = tmp_path / "ca.crt"
    file.write_bytes(world.clients.certificate)
    served = await serve(options_with(client_ca_file=file))
    for content in (b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"x"):
        file.write_bytes(content)
        served.server._trust.reread_files()
        served.server._trust.reread_files()
    assert caplog.text.count("keeping the previous CA") == 3, "once for each change"
    assert await user_of(served, pair=world.clients.client("bob")) == "bob"
    newcomers = Authority("newcomers")
    file.write_bytes(newcomers.certificate)
    served.server._trust.reread_files()
    assert await user_of(served, pair=newcomers.client("carol")) == "carol"


async def test_a_background_task_that_ended_fails_readiness(serve, monkeypatch, caplog):
    served = await serve()
    assert (await served.get("/readyz"))[0] == 200
    background = served.server._background

    async def fails() -> None:
        raise ValueError("a bug")

    background.start(fails(), name="certificate files")
    await asyncio.wait_for(background.failed.wait(), DEADLINE_SECONDS)
    code, body = await served.get("/readyz")
    assert (code, "[-]background-tasks failed: reason withheld" in body) == (500, True)
    assert "background task 'certificate files' ended" in caplog.text
    assert "a bug" in caplog.text


async def test_certificates_are_checked_by_a_watched_task(serve):
    served = await serve()
    names = {task.get_name() for task in served.server._background._tasks}
    assert {"certificate files", "authentication configuration"} <= names
    assert isinstance(served.folder, Path)
