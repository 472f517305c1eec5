"""Where requests are sent to: the path of a URL as prometheus-adapter sends it, by Go's url.Parse, path.Join and URL.String."""

import pytest

from wire.prometheus.access import PrometheusURL


# Recorded from net/http with Go 1.26.
@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("", ""),
        ("/", ""),
        ("/prometheus/", "/prometheus"),
        ("//prometheus", "/prometheus"),
        ("/a//b", "/a/b"),
        ("/a/../b/./c/", "/b/c"),
        ("/..", ""),
        ("/../../x", "/x"),
        ("/x/%2E%2E/b", "/b"),
        ("/a%2E%2E/b", "/a../b"),
        ("/a%2Fb", "/a/b"),
        ("/a b", "/a%20b"),
        ("/é", "/%C3%A9"),
        ("/%ff", "/%FF"),
        ("/%41%7e%20", "/A~%20"),
        ("/a%0Ab", "/a%0Ab"),
        ("/a\\b", "/a%5Cb"),
        ("/a;b/c,d@e:f+g!*'()$&=~", "/a;b/c,d@e:f+g%21%2A%27%28%29$&=~"),
        ('/a[b]|{}^`"<>', "/a%5Bb%5D%7C%7B%7D%5E%60%22%3C%3E"),
    ],
)
@pytest.mark.parametrize("server", ["https://host:9090", "http+unix://%2Frun%2Fsocket"])
def test_the_path_is_cleaned_and_encoded_as_by_go(server, path, sent):
    assert PrometheusURL.of(f"{server}{path}?tenant=a#here").base == f"{server}{sent}"


@pytest.mark.parametrize(
    ("url", "reported"),
    [
        ("http://host/%zz", "two hexadecimal digits"),
        ("http://host/a%", "two hexadecimal digits"),
        ("http://host/a\tb", "control character"),
        ("http://host/a\n", "control character"),
        (" http://host/a", "must look like"),
        ("http://host:http/", "port"),
        ("host:9090", "must look like"),
        ("http:/path", "must look like"),
    ],
)
def test_what_is_not_the_url_of_a_server_is_refused_with_the_fix(url, reported):
    with pytest.raises(ValueError, match=reported):
        PrometheusURL.of(url)


def test_a_refused_url_is_not_shown_since_it_may_have_a_password():
    with pytest.raises(ValueError, match="percent sign") as refused:
        PrometheusURL.of("http://me:s3cret@host/%zz?token=s3cret")
    assert "s3cret" not in str(refused.value)
