"""PURE: the one reading of a request's path, which authorization and routing share.

As Go reads it: escapes are decoded once, so an encoded slash separates like a plain one; `//`, `.` and
`..` stay as they are and match no route. Bytes that are not UTF-8 become U+FFFD, as in the reviews that
Go sends. A connection replaces the URL of each request by its
`canonical` form, from which every later reader gets the same segments.
"""

import re
from urllib.parse import quote, unquote, unquote_to_bytes

from yarl import URL

from wire.api.status import bad_request, failure

_MALFORMED_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNESCAPED = "/!$&'()*+,;=:@~-._"
PATH_LENGTH_MAX = 8_192
"""More than any route, and the name of any object or metric, has. Anyone may send a path, and decoding a mebibyte takes 0.4 s."""
SLASHES_MAX = 64
"""More than any route has. aiohttp's router searches once for each slash, in the whole path before it; it does not count escaped ones."""


def canonical(url: URL) -> URL:
    """`url` with a path that is escaped only where it must be; of a path that is too long, only the beginning.

    `check_path` refuses such a path, as it refuses one with an incomplete escape.
    """
    if url.absolute:
        # The Host header counts, and yarl may not be able to read the host of the URL.
        url = url.relative()
    raw = url.raw_path
    path = raw[:PATH_LENGTH_MAX]
    if "%" in path or not path.isascii() or path.count("/") > SLASHES_MAX:
        path = _escaped_again(path)
    return url if path == raw else url.with_path(path, encoded=True, keep_query=True)


def _escaped_again(path: str) -> str:
    decoded = unquote_to_bytes(path.encode("utf-8", "surrogateescape"))
    path = quote(decoded.decode("utf-8", "replace"), safe=_UNESCAPED)
    if path.count("/") > SLASHES_MAX:
        *first, rest = path.split("/", SLASHES_MAX)
        path = "/".join((*first, rest.replace("/", "%2F")))
    return path


def check_path(raw_path: str) -> None:
    """Raises `StatusError`: 414 for a path that is too long, and 400 for an incomplete escape, which Go's net/http refuses too."""
    if len(raw_path) > PATH_LENGTH_MAX:
        raise failure(
            414, f"the path has {len(raw_path)} characters: at most {PATH_LENGTH_MAX} are read"
        )
    if "%" in raw_path and _MALFORMED_ESCAPE.search(raw_path):
        raise bad_request(
            "the path contains a % that is not followed by two hexadecimal digits: escape it as %25"
        )


def split_url(url: str) -> tuple[str, str]:
    """The decoded path and the query string of a URL without a host. Raises as `check_path`.

    Nothing else is removed or replaced: a request is authorized and answered as the same text.
    """
    raw_path, _, query = url.partition("?")
    check_path(raw_path)
    return unquote(raw_path), query


def split_path(path: str) -> list[str]:
    """The segments of a decoded path (splitPath of apiserver's requestinfo.go)."""
    return path.strip("/").split("/")
