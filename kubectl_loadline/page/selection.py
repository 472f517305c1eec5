"""Pure: which rows the page shows, in which order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from kubectl_loadline.status.row import LIMITS, Row

PAGE_ROWS: Final = 50
ANY: Final = ""

_Key = Callable[[Row], Any]


def _attention(row: Row) -> tuple[object, ...]:
    """Problems first, then those at their maximum, those that something else limits, and those that want a change."""
    return (
        not row.has_problem,
        "max" not in row.limited_by,
        not row.limited_by,
        row.current == row.desired,
        *_name(row),
    )


def _name(row: Row) -> tuple[str, ...]:
    return (row.namespace, row.name, row.kind)


ORDERS: Final[Mapping[str, _Key]] = {
    "attention": _attention,
    "name": _name,
    "target": lambda row: (row.target, *_name(row)),
    "current": lambda row: (-1 if row.current is None else row.current, *_name(row)),
    "desired": lambda row: (-1 if row.desired is None else row.desired, *_name(row)),
    "scaled": lambda row: (-(row.last_scaled_unix_seconds or 0.0), *_name(row)),
}
RECENT_SECONDS: Final = 900.0
ALL: Final = ""
SHOWS: Final[Mapping[str, str]] = {
    ALL: "All",
    "problems": "With problems",
    "maximum": "At their maximum",
    "recent": "Scaled in the last 15 minutes",
}
"""What a person on call asks first, and how many autoscalers there are of each."""


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The filters, the order and the page. Empty texts mean any."""

    show: str = ALL
    text: str = ANY
    limit: str = ANY
    kind: str = ANY
    mode: str = ANY
    order: str = "attention"
    descending: bool = False
    page: int = 1

    def query(self, **changes: object) -> str:
        """The query of a URL for this selection with some changes; defaults are left out."""
        changed = msgspec.structs.replace(self, **changes)
        default = Selection()
        given = {
            name: getattr(changed, name)
            for name in Selection.__struct_fields__
            if getattr(changed, name) != getattr(default, name)
        }
        if "descending" in given:
            given["descending"] = "1"
        return urlencode(given)

    def ordered_by(self, order: str) -> str:
        """The query for another order, or for the opposite direction of the same one."""
        return self.query(
            order=order, descending=self.order == order and not self.descending, page=1
        )


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One page of rows; `found` is how many match, `total` how many there are."""

    rows: tuple[Row, ...]
    found: int
    total: int
    counts: Mapping[str, int]
    """Of all autoscalers, by the keys of `SHOWS`."""
    page: int
    pages: int


def selection_of(query: Mapping[str, str]) -> Selection:
    """What a URL asks for; anything unknown in it counts as not given."""
    page = query.get("page", "")
    order = query.get("order", "")
    limit = query.get("limit", "")
    show = query.get("show", "")
    return Selection(
        show=show if show in SHOWS else ALL,
        text=query.get("text", "").strip().lower()[:200],
        limit=limit if limit in LIMITS else ANY,
        kind=query["kind"] if query.get("kind") in ("la", "hpa") else ANY,
        mode=query["mode"] if query.get("mode") in ("DryRun", "Enforce") else ANY,
        order=order if order in ORDERS else "attention",
        descending=query.get("descending") == "1",
        page=int(page) if page.isdecimal() and int(page[:9]) > 0 else 1,
    )


def shown(rows: Iterable[Row], selection: Selection, now_unix_seconds: float) -> Shown:
    """Filter, sort and take one page. A page behind the last one is the last one."""
    every = list(rows)
    of_show = {
        show: [row for row in every if _is_of(show, row, now_unix_seconds)] for show in SHOWS
    }
    found = [row for row in of_show[selection.show] if _matches(row, selection)]
    found.sort(key=ORDERS[selection.order], reverse=selection.descending)
    pages = max(1, -(-len(found) // PAGE_ROWS))
    page = min(selection.page, pages)
    return Shown(
        rows=tuple(found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]),
        found=len(found),
        total=len(every),
        counts={show: len(found) for show, found in of_show.items()},
        page=page,
        pages=pages,
    )


def _is_of(show: str, row: Row, now_unix_seconds: float) -> bool:
    match show:
        case "problems":
            return row.has_problem
        case "maximum":
            return "max" in row.limited_by
        case "recent":
            scaled = row.last_scaled_unix_seconds
            return scaled is not None and now_unix_seconds - scaled <= RECENT_SECONDS
        case _:
            return True


def _matches(row: Row, selection: Selection) -> bool:
    if selection.kind not in (ANY, row.kind):
        return False
    if selection.mode != ANY and (selection.mode == "DryRun") != row.dry_run:
        return False
    if selection.limit != ANY and selection.limit not in row.limited_by:
        return False
    return _contains(row, selection.text.split())


def _contains(row: Row, words: Sequence[str]) -> bool:
    """Each word is in the namespace and name, or in the target."""
    if not words:
        return True
    text = f"{row.namespace}/{row.name} {row.target}".lower()
    return all(word in text for word in words)
