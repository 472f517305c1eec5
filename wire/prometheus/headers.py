"""The headers of a request to Prometheus, as net/http and client-go send them for prometheus-adapter."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

Header = tuple[str, str]

SET_BY_THE_CLIENT: Final = frozenset({"host", "content-length", "transfer-encoding", "trailer"})
"""In lower case: one of these that is given is not sent. Upstream: net/http's reqWriteExcludeHeader."""

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def check_header(name: str, value: str) -> None:
    """Raises `ValueError`, which quotes neither since both may be secret, for what cannot be sent."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            "the name of a header must have letters, digits and - only, as in NAME=VALUE without colon or spaces"
        )
    if _CONTROL_CHARACTER.search(value):
        raise ValueError(
            "the value of a header must have no line breaks or other control characters"
        )


def request_headers(
    given: Sequence[Header], credentials: Mapping[str, str], *, is_form: bool, compressed: bool
) -> list[Header]:
    """Those to send. `compressed`: whether the response may be."""
    headers = _with_credentials(given, credentials)
    if is_form:
        headers = [each for each in headers if each[0].lower() != "content-type"]
        headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    if not any(name.lower() == "accept-encoding" for name, _ in headers):
        headers.append(("Accept-Encoding", "gzip" if compressed else "identity"))
    return headers


def _with_credentials(given: Sequence[Header], credentials: Mapping[str, str]) -> list[Header]:
    """A header that is given has priority over the same one of the credentials, as in net/http and client-go.

    One that is set to nothing does not: bearerAuthRoundTripper and Client.send then set theirs.
    """
    with_value = {name.lower() for name, value in given if value}
    added = {name: value for name, value in credentials.items() if name.lower() not in with_value}
    replaced = SET_BY_THE_CLIENT | {name.lower() for name in added}
    kept = [(name, value) for name, value in given if name.lower() not in replaced]
    return [*kept, *added.items()]
