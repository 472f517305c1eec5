"""Impersonation headers: which rights they need, and the user that results."""

import json

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from wire.api.status import StatusError
from wire.serving.impersonation import IMPERSONATION_LENGTH_MAX, impersonation


def requested(*headers):
    return impersonation(CIMultiDictProxy(CIMultiDict(headers)))


def rights(found):
    return [
        (each.api_group, each.resource, each.subresource, each.namespace, each.name)
        for each in found.required
    ]


def test_a_request_without_the_headers_impersonates_no_user():
    assert requested(("X-Remote-User", "alice"), ("Impersonate-User", "")) is None


@pytest.mark.parametrize(
    ("headers", "groups", "required"),
    [
        pytest.param(
            [("Impersonate-User", "bob")],
            ("system:authenticated",),
            [("", "users", "", "", "bob")],
            id="a user",
        ),
        pytest.param(
            [("impersonate-user", "bob"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b")],
            ("a", "b", "system:authenticated"),
            [
                ("", "users", "", "", "bob"),
                ("", "groups", "", "", "a"),
                ("", "groups", "", "", "b"),
            ],
            id="a user with groups",
        ),
        pytest.param(
            [("Impersonate-User", "system:serviceaccount:shop:web")],
            ("system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"),
            [("", "serviceaccounts", "", "shop", "web")],
            id="a service account",
        ),
        pytest.param(
            [("Impersonate-User", "system:serviceaccount:shop:web"), ("Impersonate-Group", "a")],
            ("a", "system:authenticated"),
            [("", "serviceaccounts", "", "shop", "web"), ("", "groups", "", "", "a")],
            id="a service account with other groups",
        ),
        pytest.param(
            [("Impersonate-User", "system:serviceaccount:Shop:web")],
            ("system:authenticated",),
            [("", "users", "", "", "system:serviceaccount:Shop:web")],
            id="a user whose name only looks like a service account's",
        ),
        pytest.param(
            [("Impersonate-User", "system:anonymous")],
            ("system:unauthenticated",),
            [("", "users", "", "", "system:anonymous")],
            id="the anonymous user",
        ),
        pytest.param(
            [("Impersonate-User", "bob"), ("Impersonate-Group", "system:unauthenticated")],
            ("system:unauthenticated",),
            [("", "users", "", "", "bob"), ("", "groups", "", "", "system:unauthenticated")],
            id="a group that says whether the user is authenticated",
        ),
        pytest.param(
            [
                ("Impersonate-User", "bob"),
                ("Impersonate-Extra-Scopes%2fof", "x"),
                ("Impersonate-Extra-scopes%2Fof", "y"),
                ("Impersonate-Uid", "7"),
            ],
            ("system:authenticated",),
            [
                ("", "users", "", "", "bob"),
                ("authentication.k8s.io", "userextras", "scopes/of", "", "x"),
                ("authentication.k8s.io", "userextras", "scopes/of", "", "y"),
                ("authentication.k8s.io", "uids", "", "", "7"),
            ],
            id="extra fields and a UID",
        ),
    ],
)
def test_each_part_of_the_user_needs_a_right_of_its_own(headers, groups, required):
    found = requested(*headers)
    assert found.user.groups == groups
    assert rights(found) == required
    assert {each.verb for each in found.required} == {"impersonate"}


def test_a_key_that_is_not_escaped_correctly_stays_as_it_is():
    found = requested(("Impersonate-User", "bob"), ("Impersonate-Extra-a%zz", "x"))
    assert found.user.extra == (("a%zz", ("x",)),)


@pytest.mark.deviation("impersonation-of-no-user")
@pytest.mark.parametrize("header", ["Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-a"])
def test_a_part_of_a_user_without_its_name_is_refused(header):
    with pytest.raises(StatusError) as refused:
        requested((header, "x"))
    assert refused.value.code == 500
    assert "Impersonate-User" in refused.value.message


async def test_the_request_is_that_of_the_impersonated_user(serve, world):
    served = await serve()
    world.api.allowed |= {("alice", "users"), ("bob", "/version")}
    alice = world.clients.client("alice")
    assert (await served.get("/version", pair=alice))[0] == 403
    code, _ = await served.get("/version", pair=alice, headers={"Impersonate-User": "bob"})
    assert code == 200
    _, who = await served.get("/who", pair=alice, headers={"Impersonate-User": "bob"})
    assert json.loads(who) == {
        "name": "bob",
        "uid": "",
        "groups": ["system:authenticated"],
        "extra": {},
    }


async def test_a_client_without_the_right_cannot_impersonate_even_where_it_could_read(serve, world):
    served = await serve()
    world.api.allowed |= {("alice", "/version"), ("bob", "/version")}
    headers = {"Impersonate-User": "bob"}
    code, body = await served.get("/version", pair=world.clients.client("alice"), headers=headers)
    assert code == 403
    assert json.loads(body)["message"] == (
        'users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API group "" '
        "at the cluster scope"
    )


async def test_an_allowed_user_does_not_allow_a_group(serve, world):
    served = await serve()
    world.api.allowed |= {("alice", "users"), ("bob", "/version")}
    headers = {"Impersonate-User": "bob", "Impersonate-Group": "system:masters"}
    code, body = await served.get("/version", pair=world.clients.client("alice"), headers=headers)
    assert code == 403
    assert json.loads(body)["details"]["kind"] == "groups"


async def test_anonymous_clients_cannot_impersonate(serve):
    served = await serve()
    code, _ = await served.get("/who", headers={"Impersonate-User": "admin"})
    assert code == 403


@pytest.mark.deviation("limits-before-authentication")
@pytest.mark.parametrize(
    "header",
    [
        pytest.param(("Impersonate-User", '"' * IMPERSONATION_LENGTH_MAX), id="a user"),
        pytest.param(("Impersonate-Extra-" + "%ff" * 30_000, "x"), id="a key"),
    ],
)
def test_headers_that_take_long_to_read_impersonate_no_user(header):
    """Anyone may send them. A mebibyte of either took 0.16 s."""
    groups = [("Impersonate-Group", f"group-{number}") for number in range(1_000)]
    assert requested(("Impersonate-User", "bob"), *groups).user.name == "bob"
    with pytest.raises(StatusError, match="the Impersonate headers have") as refused:
        requested(("Impersonate-User", "bob"), header)
    assert refused.value.code == 431


def test_bytes_that_are_not_utf_8_are_replaced_as_by_go():
    """aiohttp keeps them as surrogates, which a review could not contain."""
    headers = {
        "Impersonate-User": "a\udcff",
        "Impersonate-Group": "b\udcff",
        "Impersonate-Extra-\udcff": "c\udcff",
    }
    found = impersonation(CIMultiDictProxy(CIMultiDict(headers)))
    assert found is not None
    assert (found.user.name, found.user.groups[0]) == ("a\ufffd", "b\ufffd")
    assert found.user.extra == (("\ufffd", ("c\ufffd",)),)
