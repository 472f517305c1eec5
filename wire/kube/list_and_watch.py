"""What the API server sends for a LIST and a WATCH, as far as a cache reads it, and the parameters of both."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, TypeVar

import msgspec

from wire.api import kube_json
from wire.api.meta import ListMeta
from wire.api.status import Unavailable
from wire.kube.requests import PageTooLarge

Listed = TypeVar("Listed")

OBJECTS_MAX: Final = 1_000_000
"""Of one LIST. A server that pages without end must not fill the memory."""

# Of what a page may have. After one with less, twice as many objects are requested, if there were fewer than usual.
SMALL_PAGE_SHARE = 1 / 4


class Expired(Exception):
    """The API server no longer has the history from this resourceVersion on: list again."""

    page_size: int | None = None
    """In pages of that many objects, if those of the LIST that expired had to become smaller."""


class WatchRefused(Exception):
    """The client may not watch, or the resource cannot be watched: list again periodically."""


class ListPage(msgspec.Struct, frozen=True):
    """A page of a LIST."""

    metadata: ListMeta = ListMeta()
    # Decoded one by one: an object that cannot be decoded must not hide the others.
    items: tuple[msgspec.Raw, ...] = ()


def list_page(body: bytes) -> ListPage:
    """Raises `msgspec.DecodeError`, also for the JSON of something else that responds: it would be taken for an empty list."""
    page = kube_json.decode(body, ListPage)
    is_empty = not page.items and not page.metadata.resource_version
    if is_empty and b'"items"' not in body:
        raise msgspec.DecodeError("the response has neither items nor a resourceVersion")
    return page


async def pages(
    path: str,
    get: Callable[[dict[str, str]], Awaitable[bytes]],
    params: Mapping[str, str],
    limit: int | None,
    *,
    objects_max: int = OBJECTS_MAX,
) -> AsyncIterator[ListPage]:
    """The pages of the LIST of `path` in their order, at most `limit` objects each; None for all objects in one page.

    If a page is too large, fewer objects are requested. Raises what `get` raises, `msgspec.DecodeError`, and `Unavailable` for
    pages that do not end. An `Expired` of `get` has the smaller size.
    """
    sent, size, small_bytes = dict(params), limit or 0, 0.0
    count = 0
    while True:
        if size:
            sent["limit"] = str(size)
        try:
            body = await get(sent)
        except PageTooLarge as error:
            if size <= 1:
                raise
            size, small_bytes = size // 2, error.bytes_max * SMALL_PAGE_SHARE
            continue
        except Expired as error:
            error.page_size = size if small_bytes else None
            raise
        page = list_page(body)
        count += max(1, len(page.items))  # A page may be empty and still not the last one.
        if count > objects_max:
            raise Unavailable(f"{path} has more than {objects_max} objects")
        yield page
        following = page.metadata.continue_
        if not following:
            return
        if following == sent.get("continue"):
            raise Unavailable(
                f"{path}: its list does not end, since the server returned the same `continue` twice"
            )
        sent["continue"] = following
        if len(body) < small_bytes:
            size = min(2 * size, limit or 0)


async def in_pages(listed_by: Callable[[int | None], Awaitable[Listed]], page_size: int) -> Listed:
    """A whole LIST by `listed_by`, which pages by this size. Upstream: client-go's pager, which lists in one piece when paging took too long.

    Before, it is listed in the smaller pages that its objects needed: one piece would be too large as well.
    """
    try:
        return await listed_by(page_size)
    except Expired as expired:
        smaller = expired.page_size
    if smaller is not None:
        with contextlib.suppress(Expired):
            return await listed_by(smaller)
    return await listed_by(None)


class WatchEvent(msgspec.Struct, frozen=True):
    """A line of a WATCH."""

    type: str
    object: msgspec.Raw


class Bookmark(msgspec.Struct, frozen=True):
    """The object of a bookmark, which has only a resourceVersion."""

    metadata: ListMeta


def is_earlier(version: str, than: str) -> bool:
    """Whether a resourceVersion is an earlier one of the same collection. False if one is not a number, as nothing is known of others."""
    if not all(each.isascii() and each.isdecimal() for each in (version, than)):
        return False
    # Not as numbers: Python refuses those of more than 4,300 digits.
    one, other = version.lstrip("0"), than.lstrip("0")
    return (len(one), one) < (len(other), other)


def selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    """As parameters of a request; empty ones are left out."""
    both = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {name: text for name, text in both.items() if text}
