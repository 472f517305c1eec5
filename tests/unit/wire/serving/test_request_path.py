"""A request's path is read once, for authorization and for routing."""

import pytest
from yarl import URL

from wire.api.status import StatusError
from wire.serving.request_path import (
    PATH_LENGTH_MAX,
    SLASHES_MAX,
    canonical,
    check_path,
    split_url,
)


@pytest.mark.parametrize(
    ("url", "path", "query"),
    [
        pytest.param("/apis/g/v1/x", "/apis/g/v1/x", "", id="no query"),
        pytest.param("/apis?watch=1", "/apis", "watch=1", id="a query"),
        pytest.param("/apis?", "/apis", "", id="an empty query"),
        pytest.param("/a%2Fb%3Fc?d=%2F", "/a/b?c", "d=%2F", id="escapes of the path alone"),
        pytest.param("/apis?a=1?b=2", "/apis", "a=1?b=2", id="the first mark"),
    ],
)
def test_the_query_starts_after_the_first_mark(url, path, query):
    assert split_url(url) == (path, query)


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        pytest.param("/apis/g/v1/x", "/apis/g/v1/x", id="nothing to escape"),
        pytest.param("/a%2fb", "/a/b", id="a slash"),
        pytest.param("/a%252fb", "/a%252fb", id="escaped twice, read once"),
        pytest.param("/a%20b", "/a%20b", id="a space stays escaped"),
        pytest.param("/%61", "/a", id="a letter"),
        pytest.param("/%ff", "/%EF%BF%BD", id="not UTF-8"),
        pytest.param("/a%2", "/a%252", id="incomplete"),
        pytest.param("/a//..", "/a//..", id="dots and slashes"),
    ],
)
def test_a_path_has_one_form(raw, written):
    url = canonical(URL(f"http://localhost{raw}?b=%2F", encoded=True))
    assert (url.raw_path, url.raw_query_string) == (written, "b=%2F")
    assert canonical(url) == url
    assert not url.absolute


@pytest.mark.deviation("malformed-escapes")
@pytest.mark.parametrize("path", ["/a%", "/a%2", "/a%2x", "/%%20"])
def test_an_incomplete_escape_is_refused(path):
    with pytest.raises(StatusError, match="escape it as %25"):
        check_path(path)


@pytest.mark.parametrize("path", ["/a", "/a%20", "/a%2525"])
def test_a_complete_escape_is_accepted(path):
    check_path(path)


@pytest.mark.deviation("target-length")
def test_a_path_longer_than_any_metric_needs_is_refused():
    check_path("/" + "a" * (PATH_LENGTH_MAX - 1))
    with pytest.raises(StatusError, match="the path has 8193 characters") as refused:
        check_path("/" + "a" * PATH_LENGTH_MAX)
    assert refused.value.code == 414


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param("/apis/" + "/" * 1_000 + "a%2Fb", id="slashes"),
        pytest.param("/apis/" + "%2F" * 1_000, id="escaped slashes"),
        pytest.param("/apis/%zz" + "/" * 1_000, id="an incomplete escape"),
    ],
)
def test_a_path_with_more_slashes_than_any_route_is_the_same_text_and_quick_to_route(raw):
    """aiohttp's router searches once for each slash that is not escaped."""
    url = canonical(URL(raw, encoded=True))
    assert url.raw_path.count("/") == SLASHES_MAX
    assert url.path == raw.replace("%2F", "/")
    assert canonical(url) == url


@pytest.mark.parametrize("repeated", ["a", "/", "%zz/", "%ff", "\N{PILE OF POO}"])
def test_of_a_path_that_is_refused_for_its_length_only_the_beginning_is_read(repeated):
    raw = "/apis/" + repeated * PATH_LENGTH_MAX
    url = canonical(URL.build(path=raw, query_string="a=b", encoded=True))
    assert url.path.startswith("/apis/")
    assert len(url.path) <= PATH_LENGTH_MAX
    assert url.raw_path.count("/") <= SLASHES_MAX
    assert url.raw_query_string == "a=b"


def test_the_host_of_an_absolute_target_is_not_read():
    """yarl raises an error for one that is not a name."""
    url = canonical(URL("http://xn--a/livez?a=b", encoded=True))
    assert str(url) == "/livez?a=b"
