"""The proxy of a server is the one that a Go program would use."""

import pytest

from wire.kube.cluster_access import ClusterAccess, ConnectionConfigError
from wire.kube.connection import Connection
from wire.process.proxy import proxy_of_environment

P = "http://p:3128"

# As printed by a program with golang.org/x/net v0.58.0 (httpproxy.Config.ProxyFunc).
VECTORS = [
    ("https://172.30.0.1:443", P, ".cluster.local,.svc,10.128.0.0/14,172.30.0.0/16", None),
    ("https://10.96.0.1", P, "10.0.0.0/8", None),
    ("https://11.96.0.1", P, "10.0.0.0/8", P),
    ("https://10.96.0.1", P, "10.96.0.7/8", None),
    ("https://10.96.0.1", P, "10.0.0.0/255.0.0.0", P),
    ("https://10.96.0.1", P, " 10.96.0.1 ", None),
    ("https://10.96.0.1", P, "010.96.0.1", P),
    ("https://10.96.0.1", P, "10.96.0.1:443", None),
    ("https://10.96.0.1:6443", P, "10.96.0.1:443", P),
    ("http://10.96.0.1", P, "10.96.0.1:80", None),
    ("https://10.96.0.1", P, "::ffff:10.96.0.1", None),
    ("https://[::ffff:10.96.0.1]", P, "10.0.0.0/8", None),
    ("https://10.96.0.1", P, "10.", P),
    ("https://10.96.0.1", P, "0.1", P),
    ("https://[fd00::1]", P, "fd00::1", None),
    ("https://[fd00::1]", P, "FD00:0::1", None),
    ("https://[fd00::1]:443", P, "fd00::/64", None),
    ("https://[fd00::1]:443", P, "[fd00::1]:443", None),
    ("https://[fd00::1]:6443", P, "[fd00::1]:443", P),
    ("https://[fd00::1]", P, "[fd00::1]", P),
    ("https://127.0.0.1:6443", P, "", None),
    ("https://127.9.9.9:6443", P, "", None),
    ("https://[::1]:6443", P, "", None),
    ("https://[::ffff:127.0.0.1]:6443", P, "", None),
    ("https://localhost:6443", P, "", None),
    ("https://api.localhost", P, "", P),
    ("https://api.example", P, "*", None),
    ("https://10.96.0.1", P, "other, *", None),
    ("https://api.example", P, "example", None),
    ("https://api.example", P, ".example", None),
    ("https://api.example", P, "*.example", None),
    ("https://example", P, ".example", P),
    ("https://example", P, "*.example", P),
    ("https://example", P, "example", None),
    ("https://badexample", P, "example", P),
    ("https://API.Example", P, "api.EXAMPLE", None),
    ("https://api.example", P, "api.example:443", None),
    ("https://api.example:6443", P, "api.example:443", P),
    ("https://api.example:6443", P, ".example:6443", None),
    ("https://api.example", P, "api.example:", None),
    ("https://api.example", P, ":443,,:", P),
    ("https://api.example", P, "*.,.", P),
    ("https://api.example", P, "a*i.example", P),
    ("https://api.example", P, "http://api.example", P),
    ("https://api.example", P, "a:b:c", P),
    ("https://api.example", P, "api.example other", P),
    ("https://api.example", "p:3128", "", P),
    ("https://api.example", "p.corp", "", "http://p.corp"),
    ("https://api.example", "10.0.0.9:3128", "", "http://10.0.0.9:3128"),
    ("https://api.example", "user:secret@p:3128", "", "http://user:secret@p:3128"),
    ("https://api.example", "https://p", "", "https://p"),
    ("https://api.example", "", "", None),
    ("ftp://api.example", P, "", None),
]


@pytest.mark.parametrize(("server", "proxy", "no_proxy", "used"), VECTORS)
def test_the_proxy_of_a_server_is_that_of_a_go_program(server, proxy, no_proxy, used):
    environ = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": no_proxy}
    assert proxy_of_environment(server, environ) == used


@pytest.mark.parametrize(
    ("environ", "used"),
    [
        pytest.param({}, None, id="no proxy"),
        pytest.param({"HTTP_PROXY": P}, None, id="for http only"),
        pytest.param({"https_proxy": "l", "HTTPS_PROXY": P}, "http://l", id="lower case first"),
        pytest.param({"https_proxy": "", "HTTPS_PROXY": P}, P, id="empty is not set"),
        pytest.param({"https_proxy": P, "no_proxy": "a.example"}, None, id="lower case no_proxy"),
    ],
)
def test_the_proxy_is_that_of_the_scheme(environ, used):
    assert proxy_of_environment("https://a.example:6443", environ) == used


@pytest.mark.parametrize("proxy", ["socks5://me:secret@p:1080", "http://[", "http:///x", "p:port"])
def test_an_unusable_proxy_is_refused_by_name_and_without_its_password(proxy):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is checked below
        proxy_of_environment("https://a.example", {"HTTPS_PROXY": proxy})
    assert "HTTPS_PROXY is" in str(refused.value)
    assert "secret" not in str(refused.value)


class Source:
    async def read(self, *, refused: bool = False) -> ClusterAccess:
        return ClusterAccess(server="http://a.example")


async def test_a_connection_takes_the_proxy_of_the_environment(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    source = Source()
    monkeypatch.setenv("HTTP_PROXY", "p:3128")
    connection = Connection(source, await source.read(), user_agent="a/1")
    assert connection.proxy == P
    monkeypatch.setenv("HTTP_PROXY", "socks5://p:1080")
    with pytest.raises(ConnectionConfigError, match="HTTP_PROXY is a URL with socks5://"):
        Connection(source, await source.read(), user_agent="a/1")
