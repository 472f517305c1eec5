"""Where the API server is, from each of the places where that can stand."""

import asyncio
import base64
import subprocess
import sys

import pytest

from testbed.certificates import Authority
from tests.fakes.clock import FakeClock
from wire.kube.chosen_context import CURRENT, ChosenContext
from wire.kube.cluster_access import ConnectionConfigError, ServiceAccount
from wire.kube.connection import Connection, connect
from wire.kube.kubeconfig import Kubeconfig

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture(scope="module")
def authority():
    return Authority("test")


def kubeconfig(folder, user, *, server="https://host:6443/", ca=b""):
    ca_line = f"certificate-authority-data: {base64.b64encode(ca).decode()}" if ca else ""
    path = folder / "kubeconfig"
    path.write_text(f"""
apiVersion: v1
kind: Config
current-context: here
contexts: [{{name: here, context: {{cluster: c, user: u}}}}]
clusters:
- name: c
  cluster:
    server: {server}
    {ca_line}
users: [{{name: u, user: {user}}}]
""")
    return path


async def test_a_kubeconfig_provides_server_token_and_certificates(tmp_path, authority):
    authority.client("me").write(tmp_path, "me")
    path = kubeconfig(
        tmp_path,
        "{token: secret, client-certificate: me.crt, client-key: me.key}",
        ca=authority.certificate,
    )
    connection = await connect(path, user_agent="a/1")
    assert connection.server == "https://host:6443"
    assert await connection.authorization() == "Bearer secret"
    assert connection.tls is not None
    assert len(connection.tls.get_ca_certs()) == 1


async def test_a_token_file_is_read_again_within_a_minute(tmp_path):
    (tmp_path / "token").write_text("first\n")
    source = Kubeconfig(
        str(kubeconfig(tmp_path, "{tokenFile: token}", server="http://host")), CURRENT
    )
    clock = FakeClock()
    connection = Connection(source, await source.read(), user_agent="a/1", monotonic=clock)
    (tmp_path / "token").write_text("second\n")
    assert await connection.authorization() == "Bearer first"
    clock.seconds = 61
    assert await connection.authorization() == "Bearer second"


async def test_an_exec_plugin_provides_the_token(tmp_path):
    plugin = tmp_path / "plugin"
    plugin.write_text(
        "#!/bin/sh\n"
        'echo \'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"made"}}\'\n'
    )
    plugin.chmod(0o700)
    user = f"{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: {plugin}}}}}"
    connection = await connect(kubeconfig(tmp_path, user, server="http://host"), user_agent="a/1")
    assert await connection.authorization() == "Bearer made"


async def test_a_401_runs_the_plugin_again_but_many_at_once_do_not(tmp_path):
    runs = tmp_path / "runs"
    plugin = tmp_path / "plugin"
    plugin.write_text(
        f"#!/bin/sh\necho >> {runs}\n"
        'echo \'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":'
        '{"token":"a","expirationTimestamp":"2999-01-01T00:00:00Z"}}\'\n'
    )
    plugin.chmod(0o700)
    user = f"{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: {plugin}}}}}"
    source = Kubeconfig(str(kubeconfig(tmp_path, user, server="http://host")), CURRENT)
    clock = FakeClock()
    connection = Connection(source, await source.read(), user_agent="a/1", monotonic=clock)
    clock.seconds = 61
    await connection.authorization()
    assert runs.read_text() == "\n"
    # The reading above does not keep the plugin from running.
    await asyncio.gather(*(connection.authorization(refused=True) for _ in range(3)))
    assert runs.read_text() == "\n" * 2


@pytest.fixture
def service_account(tmp_path, authority):
    (tmp_path / "token").write_text("first")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    return ServiceAccount(tmp_path, IN_CLUSTER)


async def test_a_pod_finds_its_cluster_and_sees_its_token_replaced(service_account, tmp_path):
    clock = FakeClock()
    connection = Connection(
        service_account, await service_account.read(), user_agent="a/1", monotonic=clock
    )
    assert connection.server == "https://10.0.0.1:443"
    (tmp_path / "token").write_text("second")
    clock.seconds = 6
    assert await connection.authorization(refused=True) == "Bearer second"


async def test_a_token_that_vanishes_leaves_the_last_one_in_use(service_account, tmp_path, caplog):
    clock = FakeClock()
    connection = Connection(
        service_account, await service_account.read(), user_agent="a/1", monotonic=clock
    )
    (tmp_path / "token").unlink()
    for minute in (1, 2, 3):
        clock.seconds = 61 * minute
        assert await connection.authorization() == "Bearer first"
    assert len(caplog.records) == 1


@pytest.mark.parametrize("content", ["", "\n"])
async def test_an_empty_token_file_leaves_the_last_token_in_use(
    service_account, tmp_path, content, caplog
):
    """As while it is written: without a token, requests would be those of an anonymous client."""
    of_user = Kubeconfig(
        str(kubeconfig(tmp_path, "{tokenFile: token}", server="http://host")), CURRENT
    )
    clock = FakeClock()
    connections = [
        Connection(source, await source.read(), user_agent="a/1", monotonic=clock)
        for source in (service_account, of_user)
    ]
    (tmp_path / "token").write_text(content)
    clock.seconds = 61
    assert [await each.authorization() for each in connections] == ["Bearer first"] * 2
    assert caplog.text.count(f"{tmp_path / 'token'} is empty") == 2
    (tmp_path / "token").write_text("second")
    clock.seconds = 122
    assert [await each.authorization() for each in connections] == ["Bearer second"] * 2


async def test_an_empty_token_file_at_the_start_is_an_error_that_names_it(
    service_account, tmp_path
):
    (tmp_path / "token").write_text("\n")
    with pytest.raises(ConnectionConfigError, match=f"{tmp_path / 'token'} is empty"):
        await service_account.read()
    with pytest.raises(ConnectionConfigError, match=f"{tmp_path / 'token'} is empty"):
        await connect(kubeconfig(tmp_path, "{tokenFile: token}"), user_agent="a/1")


async def test_a_new_ca_is_trusted_by_new_connections(service_account, tmp_path):
    clock = FakeClock()
    connection = Connection(
        service_account, await service_account.read(), user_agent="a/1", monotonic=clock
    )
    assert connection.tls is not None
    (tmp_path / "ca.crt").unlink()
    (tmp_path / "ca.crt").write_bytes(Authority("next").certificate)
    clock.seconds = 61
    await connection.authorization()
    assert len(connection.tls.get_ca_certs()) == 2


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        pytest.param({}, "specify a kubeconfig with a flag", id="nowhere"),
        pytest.param({"KUBECONFIG": "/no/such/file"}, "/no/such/file: no such file", id="no file"),
        pytest.param(IN_CLUSTER, "automountServiceAccountToken", id="no token"),
    ],
)
async def test_the_error_names_what_is_missing(environ, message):
    with pytest.raises(ConnectionConfigError, match=message):
        await connect(user_agent="a/1", environ=environ)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("clusters: [", id="no YAML"),
        pytest.param("a: b", id="no kubeconfig"),
        pytest.param("[]", id="a list"),
        pytest.param("", id="empty"),
    ],
)
async def test_an_invalid_kubeconfig_is_refused_by_name(tmp_path, text):
    path = tmp_path / "broken"
    path.write_text(text)
    with pytest.raises(ConnectionConfigError, match="broken: "):
        await connect(path, user_agent="a/1")


async def test_the_error_names_an_unknown_context(tmp_path):
    path = kubeconfig(tmp_path, "{}", server="http://host")
    with pytest.raises(ConnectionConfigError, match="elsewhere"):
        await connect(path, context=ChosenContext(name="elsewhere"), user_agent="a/1")


TWO_CLUSTERS = """
apiVersion: v1
kind: Config
current-context: here
contexts:
- {name: here, context: {cluster: near, user: jane, namespace: shop}}
clusters:
- {name: near, cluster: {server: "http://near"}}
- {name: far, cluster: {server: "http://far"}}
users:
- {name: jane, user: {token: of-jane}}
- {name: joe, user: {token: of-joe, as: admin}}
"""


@pytest.mark.parametrize(
    ("chosen", "server", "token", "namespace", "acts_as"),
    [
        pytest.param({}, "http://near", "of-jane", "shop", (), id="the current context"),
        pytest.param({"cluster": "far"}, "http://far", "of-jane", "shop", (), id="another cluster"),
        pytest.param(
            {"user": "joe"}, "http://near", "of-joe", "shop", (("Impersonate-User", "admin"),), id="another user"
        ),
        pytest.param(
            {"name": "here", "cluster": "far", "user": "joe"},
            "http://far", "of-joe", "shop", (("Impersonate-User", "admin"),), id="both",
        ),
    ],
)  # fmt: skip
async def test_a_chosen_cluster_and_user_replace_those_of_the_context(
    tmp_path, chosen, server, token, namespace, acts_as
):
    path = tmp_path / "kubeconfig"
    path.write_text(TWO_CLUSTERS)
    connection = await connect(path, context=ChosenContext(**chosen), user_agent="a/1")
    assert connection.server == server
    assert await connection.authorization() == f"Bearer {token}"
    assert (connection.namespace, connection.impersonation) == (namespace, acts_as)


async def test_a_chosen_cluster_and_user_need_no_context(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(TWO_CLUSTERS.replace("current-context: here", ""))
    chosen = ChosenContext(cluster="far", user="joe")
    connection = await connect(path, context=chosen, user_agent="a/1")
    assert (connection.server, connection.namespace) == ("http://far", "default")


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"cluster": "missing"}, "there is no cluster 'missing': it has near, far"),
        ({"user": "missing"}, "there is no user 'missing': it has jane, joe"),
        ({"name": "missing"}, "there is no context 'missing': it has here"),
    ],
)
async def test_the_error_names_what_the_kubeconfig_has(tmp_path, chosen, message):
    path = tmp_path / "kubeconfig"
    path.write_text(TWO_CLUSTERS)
    with pytest.raises(ConnectionConfigError, match=message):
        await connect(path, context=ChosenContext(**chosen), user_agent="a/1")


def test_a_program_in_a_pod_does_not_import_the_kubeconfig_library():
    code = "import sys, wire.kube.client; sys.exit('kubernetes_asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_impersonation_is_sent_to_the_api_server(tmp_path):
    path = kubeconfig(
        tmp_path,
        "{token: secret, as: jane, as-uid: '7', as-groups: [dev, ops], as-user-extra: {team/x: [a]}}",
    )
    connection = await connect(path, user_agent="a/1")
    assert connection.impersonation == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-team%2Fx", "a"),
    )
