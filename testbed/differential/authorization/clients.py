"""Every kind of client of an aggregated API: through the aggregator, directly, and with invalid credentials."""

import datetime
import time
from collections.abc import Iterator

from testbed.certificates import Authority
from testbed.cluster import Cluster
from testbed.differential.authorization import service_account_tokens
from testbed.differential.authorization.accounts_and_roles import (
    ALL,
    GROUP,
    IMPERSONATOR,
    NAMESPACE,
    NONE,
    ONE,
)
from testbed.differential.authorization.client_connection import Client

PROXY = "front-proxy-client"
MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
HOUR_SECONDS = 3600
ACCOUNTS = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", AUTHENTICATED)

UNTRUSTED_CERTIFICATES = (
    "a certificate of another authority",
    "a certificate that has expired",
    "a certificate of a server",
)
"""Certificates that pass the TLS handshake in Go but not in Loadline."""


def clients(cluster: Cluster) -> Iterator[Client]:
    """All clients."""
    yield Client(name="no credentials")
    yield from _through_the_front_proxy(cluster)
    yield from _with_forged_headers(cluster)
    yield from _with_a_certificate(cluster)
    yield from _with_a_token(cluster)
    yield from _with_impersonation(cluster)
    yield from _with_an_untrusted_certificate(cluster)


def remote(
    user: str, *groups: str, extra: tuple[tuple[str, str], ...] = ()
) -> tuple[tuple[str, str], ...]:
    """The headers with which the aggregator passes the user on."""
    return (
        ("X-Remote-User", user),
        *(("X-Remote-Group", group) for group in groups),
        *((f"X-Remote-Extra-{key}", value) for key, value in extra),
    )


def _through_the_front_proxy(cluster: Cluster) -> Iterator[Client]:
    proxy = cluster.front_proxy_certificate(PROXY)
    extra = (("scopes", "one"), ("authentication.kubernetes.io%2fcredential-id", "X509SHA256=00"))
    for description, headers in {
        "an administrator": remote("admin", MASTERS, AUTHENTICATED),
        "a reader of all": remote(ALL, AUTHENTICATED),
        "a reader of one": remote(ONE, AUTHENTICATED),
        "a reader of nothing": remote(NONE, AUTHENTICATED),
        "a member of a group": remote("someone", "others", GROUP, AUTHENTICATED),
        "an account with one right": remote(f"system:serviceaccount:{NAMESPACE}:{ONE}", *ACCOUNTS),
        "a user with extra fields": remote(ONE, AUTHENTICATED, extra=extra),
        "a user without groups": remote(ONE),
        "the anonymous user": remote("system:anonymous", "system:unauthenticated"),
        "groups without a user": (("X-Remote-Group", MASTERS),),
        "an empty user name": remote("", MASTERS),
        "no user": (),
    }.items():
        yield Client(name=f"the front proxy for {description}", certificate=proxy, headers=headers)
    token = ("Authorization", f"Bearer {_issued(cluster, ONE)}")
    yield Client(name="the front proxy with a token only", certificate=proxy, headers=(token,))
    both = (*remote(NONE, AUTHENTICATED), token)
    yield Client(
        name="the front proxy for a user other than its token's", certificate=proxy, headers=both
    )


def _with_forged_headers(cluster: Cluster) -> Iterator[Client]:
    master = remote("admin", MASTERS, AUTHENTICATED)
    yield Client(name="forged headers without credentials", headers=master)
    yield Client(
        name="a front proxy with a name that is not allowed",
        certificate=cluster.front_proxy_certificate("someone-else"),
        headers=master,
    )
    yield Client(
        name="forged headers with a certificate",
        certificate=cluster.client_certificate(ONE),
        headers=master,
    )
    yield Client(
        name="a user named like the front proxy",
        certificate=cluster.client_certificate(PROXY),
        headers=master,
    )
    token = ("Authorization", f"Bearer {_issued(cluster, ONE)}")
    yield Client(name="forged headers with a token", headers=(*master, token))


def _with_a_certificate(cluster: Cluster) -> Iterator[Client]:
    for description, user, groups in (
        ("an administrator", "admin", (MASTERS,)),
        ("a reader of all", ALL, ()),
        ("a reader of one", ONE, ()),
        ("a reader of nothing", NONE, ()),
        ("a member of a group", "someone", ("others", GROUP)),
        ("a user without a name", "", ()),
    ):
        yield Client(
            name=f"a certificate of {description}",
            certificate=cluster.client_certificate(user, groups),
        )
    token = ("Authorization", f"Bearer {_issued(cluster, ALL)}")
    yield Client(
        name="a certificate of a reader of nothing with a better token",
        certificate=cluster.client_certificate(NONE),
        headers=(token,),
    )


def _with_a_token(cluster: Cluster) -> Iterator[Client]:
    now = int(time.time())
    good = _issued(cluster, ALL)
    fresh = service_account_tokens.signed(
        cluster, NAMESPACE, ALL, issued_at=now - HOUR_SECONDS, expires_at=now + HOUR_SECONDS
    )
    expired = service_account_tokens.signed(
        cluster, NAMESPACE, ALL, issued_at=now - 2 * HOUR_SECONDS, expires_at=now - HOUR_SECONDS
    )
    other_audience = cluster.kubectl(
        "create", "token", ALL, "--namespace", NAMESPACE, "--audience=https://elsewhere"
    ).strip()
    for description, authorization in {
        "of a reader of all": f"Bearer {good}",
        "of a reader of one": f"Bearer {_issued(cluster, ONE)}",
        "of a reader of nothing": f"Bearer {_issued(cluster, NONE)}",
        "signed by hand": f"Bearer {fresh}",
        "that has expired": f"Bearer {expired}",
        "for another audience": f"Bearer {other_audience}",
        "with a broken signature": f"Bearer {good[:-8]}AAAAAAAA",
        "that is garbage": "Bearer garbage",
        "that is empty": "Bearer ",
        "after a lower-case scheme": f"bearer {good}",
        "after two spaces": f"Bearer  {good}",
        "followed by other words": f"Bearer {good} and more",
        "of another scheme": "Basic YWRtaW46YWRtaW4=",
        "without a scheme": good,
    }.items():
        yield Client(name=f"a token {description}", headers=(("Authorization", authorization),))


def _with_impersonation(cluster: Cluster) -> Iterator[Client]:
    """Headers that ask for another user; kube-apiserver removes them from what it aggregates."""
    account = f"system:serviceaccount:{NAMESPACE}:"
    team = "Impersonate-Extra-example.com%2Fteam"
    impersonator = cluster.client_certificate(IMPERSONATOR)
    for description, headers in {
        "a reader of all": as_user(ALL),
        "a reader of one": as_user(ONE),
        "an account with one right": as_user(account + ONE),
        "an account with other groups": (*as_user(account + NONE), ("Impersonate-Group", GROUP)),
        "an account that cannot exist": as_user(account + "Not_A_Name"),
        "a member of a group": (*as_user(ONE), ("Impersonate-Group", GROUP)),
        "the anonymous user": as_user("system:anonymous"),
        "an unauthenticated user": (
            *as_user(ALL),
            ("Impersonate-Group", "system:unauthenticated"),
        ),
        "a user with a UID": (*as_user(ALL), ("Impersonate-Uid", "7")),
        "a user with another UID": (*as_user(ALL), ("Impersonate-Uid", "8")),
        "a user with extra fields": (*as_user(ALL), (team, "blue")),
        "a user with other extra fields": (*as_user(ALL), (team, "blue"), (team, "red")),
        "a user it may not be": as_user("admin"),
        "a group it may not be in": (*as_user(ALL), ("Impersonate-Group", MASTERS)),
        "an empty group": (*as_user(ALL), ("Impersonate-Group", "")),
        "an empty user": as_user(""),
        "a user in lower-case headers": (("impersonate-user", ONE), ("impersonate-group", GROUP)),
    }.items():
        yield Client(
            name=f"an impersonator of {description}", certificate=impersonator, headers=headers
        )
    yield Client(
        name="a reader of all who may not impersonate",
        certificate=cluster.client_certificate(ALL),
        headers=as_user(ONE),
    )
    yield Client(
        name="an administrator who impersonates a reader of one",
        certificate=cluster.client_certificate("admin", (MASTERS,)),
        headers=as_user(ONE),
    )
    yield Client(name="an impersonator without credentials", headers=as_user(ALL))
    token = ("Authorization", f"Bearer {_issued(cluster, IMPERSONATOR)}")
    yield Client(name="an impersonator with a token", headers=(*as_user(ONE), token))


def as_user(name: str) -> tuple[tuple[str, str], ...]:
    """The header with which a client impersonates a user."""
    return (("Impersonate-User", name),)


def _with_an_untrusted_certificate(cluster: Cluster) -> Iterator[Client]:
    other, expired, server = UNTRUSTED_CERTIFICATES
    yield Client(name=other, certificate=Authority("elsewhere").client("admin", (MASTERS,)))
    past = datetime.timedelta(minutes=-1)
    yield Client(
        name=expired, certificate=cluster.client_certificate("admin", (MASTERS,), lifetime=past)
    )
    yield Client(name=server, certificate=cluster.server_certificate(ALL))


def _issued(cluster: Cluster, account: str) -> str:
    return cluster.kubectl("create", "token", account, "--namespace", NAMESPACE).strip()
