"""The proxy of the environment is the one for the API server's scheme, unless NO_PROXY names the host."""

import pytest

from wire.kube import connection


@pytest.fixture(autouse=True)
def forgotten():
    """The environment is read once per server; each test has its own."""
    connection._proxy_of_environment.cache_clear()
    yield
    connection._proxy_of_environment.cache_clear()


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        pytest.param({"https_proxy": "http://p:3128"}, "http://p:3128", id="for https"),
        pytest.param({"http_proxy": "http://p:3128"}, None, id="for http only"),
        pytest.param(
            {"https_proxy": "http://p:3128", "no_proxy": "api.example"}, None, id="no proxy"
        ),
    ],
)
def test_the_proxy_is_that_of_the_environment(environ, proxy, monkeypatch):
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert connection._proxy_of_environment("https://api.example:6443") == proxy
