"""Several kubeconfig files are merged as by client-go (ClientConfigLoadingRules.Load)."""

import os
import ssl

import pytest

from testbed.certificates import Authority
from wire.kube.chosen_context import CURRENT, ChosenContext
from wire.kube.cluster_access import ConnectionConfigError
from wire.kube.connection import connect
from wire.kube.kubeconfig import Kubeconfig


@pytest.fixture
def files(tmp_path):
    """Write files, each in a folder of its own, and return them as `$KUBECONFIG` names them."""

    def write(**contents):
        paths = []
        for folder, content in contents.items():
            (tmp_path / folder).mkdir(exist_ok=True)
            path = tmp_path / folder / "config"
            path.write_text(content)
            paths.append(str(path))
        return os.pathsep.join(paths)

    return write


def cluster(name, field=""):
    return f"clusters: [{{name: {name}, cluster: {{server: 'http://{name}'{field}}}}}]\n"


def context(name, of="c", user="u"):
    return f"contexts: [{{name: {name}, context: {{cluster: {of}, user: {user}}}}}]\n"


def user(name, fields):
    return f"users: [{{name: {name}, user: {{{fields}}}}}]\n"


U = user("u", "token: t")


async def server_of(paths, chosen=CURRENT):
    return (await Kubeconfig(paths, chosen).read()).server


@pytest.mark.parametrize(
    ("first", "second", "server"),
    [
        pytest.param("current-context: a", "current-context: b", "http://a", id="the first one"),
        pytest.param("", "current-context: b", "http://b", id="an empty file before"),
        pytest.param("# nothing", "current-context: b", "http://b", id="a comment before"),
        pytest.param("current-context: a", "", "http://a", id="an empty file after"),
        pytest.param("current-context: a", 'current-context: ""', "http://a", id="none after"),
        pytest.param('current-context: ""', "current-context: b", "http://b", id="none before"),
        pytest.param("current-context:", "current-context: b", "http://b", id="null before"),
    ],
)
async def test_the_first_file_that_has_a_current_context_chooses_it(files, first, second, server):
    of_a = cluster("a") + context("a", of="a") + U
    of_b = cluster("b") + context("b", of="b") + U
    assert await server_of(files(p=first, q=second, r=of_a, s=of_b)) == server


async def test_the_first_entry_with_a_name_wins(files):
    first = "current-context: x\n" + context("x") + user("u", "token: first")
    second = context("x", of="other") + cluster("c") + user("u", "token: second, as: admin")
    access = await Kubeconfig(files(p=first, q=second), CURRENT).read()
    assert (access.server, access.authorization) == ("http://c", "Bearer first")
    assert access.impersonation == ()


async def test_a_missing_file_is_skipped(files, tmp_path):
    paths = files(p="current-context: c\n" + cluster("c") + context("c") + U)
    assert await server_of(f"{tmp_path / 'missing'}{os.pathsep}{paths}{os.pathsep}") == "http://c"


async def test_paths_are_relative_to_the_file_that_has_them(files, tmp_path):
    of_cluster = "current-context: x\n" + context("x") + cluster("c", ", certificate-authority: ca")
    of_user = user(
        "u", "client-certificate: me.crt, client-key: sub/../me.key, tokenFile: ../token"
    )
    paths = files(p=of_cluster.replace("http:", "https:"), q=of_user)
    authority = Authority("test")
    (tmp_path / "p" / "ca").write_bytes(authority.certificate)
    (tmp_path / "q" / "sub").mkdir()
    authority.client("me").write(tmp_path / "q", "me")
    (tmp_path / "token").write_text("t")
    connection = await connect(
        user_agent="a/1", environ={"KUBECONFIG": paths, "HOME": str(tmp_path)}
    )
    assert isinstance(connection.tls, ssl.SSLContext)
    assert await connection.authorization() == "Bearer t"


@pytest.mark.parametrize("command", ["./plugin", "../q/plugin"])
async def test_a_plugin_with_a_path_is_relative_to_its_file(files, tmp_path, command):
    of_user = user(
        "u", f"exec: {{apiVersion: client.authentication.k8s.io/v1, command: {command}}}"
    )
    paths = files(p="current-context: c\n" + cluster("c") + context("c"), q=of_user)
    plugin = tmp_path / "q" / "plugin"
    plugin.write_text(
        "#!/bin/sh\n"
        'echo \'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"made"}}\'\n'
    )
    plugin.chmod(0o700)
    assert (await Kubeconfig(paths, CURRENT).read()).authorization == "Bearer made"


async def test_an_empty_certificate_authority_data_does_not_hide_the_file(files, tmp_path):
    of_cluster = cluster("c", ", certificate-authority: ca, certificate-authority-data: ''")
    text = "current-context: c\n" + of_cluster.replace("http:", "https:") + context("c") + U
    paths = files(p=text)
    (tmp_path / "p" / "ca").write_bytes(Authority("test").certificate)
    assert (await Kubeconfig(paths, CURRENT).read()).ca_file == str(tmp_path / "p" / "ca")


@pytest.mark.parametrize("users", ["", "users: [{name: u}]\n", "users: [{name: u, user: null}]\n"])
async def test_a_user_without_credentials_is_anonymous(files, users):
    text = cluster("c") + context("c", user="u" if users else "''") + users
    paths = files(p="current-context: c\n" + text.replace("http:", "https:"))
    assert (await Kubeconfig(paths, CURRENT).read()).authorization is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(cluster("c") + context("c") + U, "it has no current-context", id="no context"),
        pytest.param(
            "current-context: d\n" + cluster("c") + context("c") + U,
            "there is no context 'd': it has c",
            id="an unknown context",
        ),
        pytest.param(
            "current-context: c\n" + cluster("d") + context("c") + U,
            "there is no cluster 'c': it has d",
            id="an unknown cluster",
        ),
        pytest.param(
            "current-context: c\n" + cluster("c") + context("c"),
            "there is no user 'u'",
            id="an unknown user",
        ),
        pytest.param(
            "current-context: c\nclusters: [{name: c, cluster: {}}]\n" + context("c") + U,
            "cluster 'c' has no server",
            id="no server",
        ),
        pytest.param(
            "current-context: c\n"
            + cluster("c", ", proxy-url: 'socks5://p:1080'")
            + context("c")
            + U,
            "proxy-url of cluster 'c' is a URL with socks5://: a proxy with http:// or https:// is supported",
            id="a SOCKS proxy",
        ),
        pytest.param(
            "current-context: c\n" + cluster("c", ", proxy-url: 'p:1080'") + context("c") + U,
            "proxy-url of cluster 'c' is not the URL of a proxy",
            id="a proxy without a scheme, as in client-go",
        ),
        pytest.param("users: [u]", "users has an entry that is not a user", id="no entry"),
    ],
)
def test_what_is_missing_is_named(files, text, message):
    with pytest.raises(ConnectionConfigError, match=message):
        Kubeconfig(files(p=text), CURRENT)


async def test_a_chosen_context_does_not_need_a_current_one(files):
    text = cluster("c") + context("c") + U
    assert await server_of(files(p="current-context: gone\n" + text), ChosenContext(name="c"))
