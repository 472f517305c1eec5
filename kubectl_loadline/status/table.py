"""Pure: autoscalers in a line each, in kubectl's layout."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from kubectl_loadline.status.row import Row
from wire.process.command_line.messages import printable

GAP: Final = "   "
REASON: Final = "REASON"
LIMITED_BY: Final = "LIMITED BY"


def _count(replicas: int | None) -> str:
    return "?" if replicas is None else str(replicas)


def _desired(row: Row) -> str:
    """The mode is here, where it says what the count means, and not in a column that a narrow terminal has no space for."""
    return f"{_count(row.desired)} (dry run)" if row.dry_run else _count(row.desired)


_CELLS: Final[Mapping[str, Callable[[Row], str]]] = {
    "NAMESPACE": lambda row: row.namespace,
    "NAME": lambda row: f"{row.kind}/{row.name}",
    "TARGET": lambda row: row.target,
    "MIN": lambda row: str(row.min),
    "MAX": lambda row: str(row.max),
    "CURRENT": lambda row: _count(row.current),
    "DESIRED": _desired,
    LIMITED_BY: lambda row: ", ".join(row.limited_by) or "-",
    REASON: lambda row: " ".join(row.reason.split()),
}
# What is left out on a narrow terminal: the first of these with which the reason has so many columns. Names stay whole.
LEFT_OUT: Final = (
    ((), 20),
    (("TARGET",), 20),
    (("TARGET", "MIN", "MAX"), 15),
    (("TARGET", REASON), 0),
    (("TARGET", "MIN", "MAX", REASON), 0),
)


def _cell(title: str, row: Row) -> str:
    """As a terminal may show it."""
    return printable(_CELLS[title](row))


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """The columns that are shown and their widths. `columns` is the width of a terminal, None for what is as wide as needed."""

    widths: Mapping[str, int]
    left_out: tuple[str, ...] = ()
    columns: int | None = None

    def header(self) -> str:
        """The line with the titles."""
        return self._line({title: title for title in self.widths})

    def line(self, row: Row, *, of_problem: Callable[[str], str] = str) -> str:
        """One autoscaler; `of_problem` marks what limits it, if that is a problem."""
        cells = {title: _cell(title, row) for title in self.widths}
        return self._line(cells, of_problem if row.has_problem else str)

    def _line(self, cells: Mapping[str, str], of_limit: Callable[[str], str] = str) -> str:
        parts = []
        used = 0
        for title, width in self.widths.items():
            cell = cells[title]
            if title == REASON and self.columns is not None:
                cell = _cut(cell, self.columns - used)
            padded = cell.ljust(width)
            used += len(padded) + len(GAP)
            parts.append(of_limit(cell) + padded[len(cell) :] if title == LIMITED_BY else padded)
        return GAP.join(parts).rstrip()


def table_of(rows: Sequence[Row], *, with_namespace: bool, columns: int | None) -> Table:
    """The table for `rows`: on a terminal of that many columns, the reason is cut and what does not fit is left out."""
    widths = {
        title: max(len(title), *(len(_cell(title, row)) for row in rows), 0)
        for title in _CELLS
        if with_namespace or title != "NAMESPACE"
    }
    if columns is None:
        return Table(widths=widths)
    for left_out, reason_columns in LEFT_OUT:
        kept = {title: width for title, width in widths.items() if title not in left_out}
        least = min(kept.get(REASON, 0), reason_columns) - kept.get(REASON, 0)
        if sum(kept.values()) + least + len(GAP) * (len(kept) - 1) <= columns:
            break
    return Table(widths=kept, left_out=left_out, columns=columns)


def _cut(text: str, columns: int) -> str:
    """At the end of a word, if there is one in the second half."""
    if len(text) <= columns:
        return text
    kept = text[: max(0, columns - 3)]
    end = kept.rfind(" ")
    return f"{kept[:end] if end > len(kept) // 2 else kept}..."
