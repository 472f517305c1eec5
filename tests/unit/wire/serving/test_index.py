"""`/` lists the paths of the server, for those who may read it."""

import json

import pytest


@pytest.mark.deviation("own-paths")
async def test_the_list_has_every_fixed_path_and_every_check(serve, world):
    world.api.allowed.add(("bob", "/"))
    served = await serve()
    code, body = await served.get("/", pair=world.clients.client("bob"))
    assert code == 200
    paths = json.loads(body)["paths"]
    assert paths == sorted(paths)
    assert {"/healthz", "/healthz/ping", "/readyz/shutdown", "/metrics", "/version"} <= set(paths)
    assert not {"/", "/index.html", "/healthz/"} & set(paths)


async def test_the_list_needs_a_right(serve):
    served = await serve()
    assert (await served.get("/"))[0] == 403
