"""Everybody who could come to an aggregated API: through the aggregator, past it, and who should not come at all."""

import datetime
import time
from collections.abc import Iterator

from testbed.certificates import Authority
from testbed.cluster import Cluster
from testbed.differential.rights import tokens
from testbed.differential.rights.asking import Asker
from testbed.differential.rights.world import ALL, GROUP, NAMESPACE, NONE, ONE

PROXY = "front-proxy-client"
MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
HOUR_SECONDS = 3600
ACCOUNTS = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", AUTHENTICATED)

STRANGERS = (
    "a certificate of another authority",
    "a certificate that has expired",
    "a certificate of a server",
)
"""Whom Go's TLS lets speak and ours does not."""


def askers(cluster: Cluster) -> Iterator[Asker]:
    """All of them."""
    yield Asker(name="nobody")
    yield from _through_the_front_proxy(cluster)
    yield from _who_only_say_so(cluster)
    yield from _with_a_certificate(cluster)
    yield from _with_a_token(cluster)
    yield from _strangers(cluster)


def remote(
    user: str, *groups: str, extra: tuple[tuple[str, str], ...] = ()
) -> tuple[tuple[str, str], ...]:
    """The headers by which the aggregator says for whom it asks."""
    return (
        ("X-Remote-User", user),
        *(("X-Remote-Group", group) for group in groups),
        *((f"X-Remote-Extra-{key}", value) for key, value in extra),
    )


def _through_the_front_proxy(cluster: Cluster) -> Iterator[Asker]:
    proxy = cluster.front_proxy_certificate(PROXY)
    extra = (("scopes", "one"), ("authentication.kubernetes.io%2fcredential-id", "X509SHA256=00"))
    for who, headers in {
        "an administrator": remote("admin", MASTERS, AUTHENTICATED),
        "who reads all": remote(ALL, AUTHENTICATED),
        "who reads one": remote(ONE, AUTHENTICATED),
        "who reads nothing": remote(NONE, AUTHENTICATED),
        "a member of a group": remote("somebody", "others", GROUP, AUTHENTICATED),
        "an account with one right": remote(f"system:serviceaccount:{NAMESPACE}:{ONE}", *ACCOUNTS),
        "who says more about themselves": remote(ONE, AUTHENTICATED, extra=extra),
        "who says no group": remote(ONE),
        "nobody in particular": remote("system:anonymous", "system:unauthenticated"),
        "the groups of nobody at all": (("X-Remote-Group", MASTERS),),
        "an empty name": remote("", MASTERS),
        "nothing": (),
    }.items():
        yield Asker(name=f"the front proxy for {who}", certificate=proxy, headers=headers)
    token = ("Authorization", f"Bearer {_issued(cluster, ONE)}")
    yield Asker(name="the front proxy with a token only", certificate=proxy, headers=(token,))
    both = (*remote(NONE, AUTHENTICATED), token)
    yield Asker(name="the front proxy for another than its token", certificate=proxy, headers=both)


def _who_only_say_so(cluster: Cluster) -> Iterator[Asker]:
    master = remote("admin", MASTERS, AUTHENTICATED)
    yield Asker(name="nobody who says to be a master", headers=master)
    yield Asker(
        name="a front proxy of a wrong name",
        certificate=cluster.front_proxy_certificate("somebody-else"),
        headers=master,
    )
    yield Asker(
        name="a user who says to be a master",
        certificate=cluster.client_certificate(ONE),
        headers=master,
    )
    yield Asker(
        name="a user by the name of the front proxy",
        certificate=cluster.client_certificate(PROXY),
        headers=master,
    )
    token = ("Authorization", f"Bearer {_issued(cluster, ONE)}")
    yield Asker(name="a token that says to be a master", headers=(*master, token))


def _with_a_certificate(cluster: Cluster) -> Iterator[Asker]:
    for who, user, groups in (
        ("an administrator", "admin", (MASTERS,)),
        ("who reads all", ALL, ()),
        ("who reads one", ONE, ()),
        ("who reads nothing", NONE, ()),
        ("a member of a group", "somebody", ("others", GROUP)),
        ("nobody by name", "", ()),
    ):
        yield Asker(
            name=f"a certificate of {who}", certificate=cluster.client_certificate(user, groups)
        )
    token = ("Authorization", f"Bearer {_issued(cluster, ALL)}")
    yield Asker(
        name="a certificate of who reads nothing with a better token",
        certificate=cluster.client_certificate(NONE),
        headers=(token,),
    )


def _with_a_token(cluster: Cluster) -> Iterator[Asker]:
    now = int(time.time())
    good = _issued(cluster, ALL)
    fresh = tokens.signed(
        cluster, NAMESPACE, ALL, issued_at=now - HOUR_SECONDS, expires_at=now + HOUR_SECONDS
    )
    expired = tokens.signed(
        cluster, NAMESPACE, ALL, issued_at=now - 2 * HOUR_SECONDS, expires_at=now - HOUR_SECONDS
    )
    of_others = cluster.kubectl(
        "create", "token", ALL, "--namespace", NAMESPACE, "--audience=https://elsewhere"
    ).strip()
    for who, authorization in {
        "of who reads all": f"Bearer {good}",
        "of who reads one": f"Bearer {_issued(cluster, ONE)}",
        "of who reads nothing": f"Bearer {_issued(cluster, NONE)}",
        "signed by hand": f"Bearer {fresh}",
        "that has expired": f"Bearer {expired}",
        "for another audience": f"Bearer {of_others}",
        "with a broken signature": f"Bearer {good[:-8]}AAAAAAAA",
        "that is garbage": "Bearer garbage",
        "that is empty": "Bearer ",
        "after a small word": f"bearer {good}",
        "after two spaces": f"Bearer  {good}",
        "followed by something": f"Bearer {good} and more",
        "of another kind": "Basic YWRtaW46YWRtaW4=",
        "without its kind": good,
    }.items():
        yield Asker(name=f"a token {who}", headers=(("Authorization", authorization),))


def _strangers(cluster: Cluster) -> Iterator[Asker]:
    other, expired, server = STRANGERS
    yield Asker(name=other, certificate=Authority("elsewhere").client("admin", (MASTERS,)))
    past = datetime.timedelta(minutes=-1)
    yield Asker(
        name=expired, certificate=cluster.client_certificate("admin", (MASTERS,), lifetime=past)
    )
    yield Asker(name=server, certificate=cluster.certificate_of_a_server(ALL))


def _issued(cluster: Cluster, account: str) -> str:
    return cluster.kubectl("create", "token", account, "--namespace", NAMESPACE).strip()
