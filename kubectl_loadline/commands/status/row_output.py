"""Rows on stdout in the format of `-o`: a table as kubectl prints it, documents, or names."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Final

import msgspec

from kubectl_loadline.cluster.autoscaler_name import KINDS, short_name
from kubectl_loadline.status.row import Row
from kubectl_loadline.status.table import Table, table_of
from kubectl_loadline.terminal.documents import (
    YAML,
    add_output_flag,
    is_document,
    is_jsonpath,
    print_document,
)
from kubectl_loadline.terminal.screen import print_hidden, red, screen_columns, shows_colours
from wire.process.command_line.messages import printable
from wire.process.command_line.parsing import FlagSet

TABLE: Final = "table"
WIDE: Final = "wide"
NAME: Final = "name"
_RESOURCES: Final = {short_name(kind): f"{kind.kind.lower()}.{kind.group}" for kind in KINDS}


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    autoscalers: tuple[Row, ...]


class RowOutput:
    """Prints the rows of a list, and later those that change, in the columns of the list."""

    def __init__(self, given: Namespace) -> None:
        self._given = given
        self._table: Table | None = None

    def print_list(self, rows: Sequence[Row]) -> None:
        """All at once."""
        if is_document(self._given.output):
            print_encoded(self._given.output, _Document(autoscalers=tuple(rows)))
        else:
            self._print_lines(rows)

    def print_change(self, row: Row) -> None:
        """One more row; a document of its own, and for a template a list with one row."""
        if self._given.output == YAML:
            print("---")
        if is_jsonpath(self._given.output):
            self.print_list((row,))
        elif is_document(self._given.output):
            print_encoded(self._given.output, row)
        else:
            self._print_lines((row,))
        sys.stdout.flush()

    def _print_lines(self, rows: Sequence[Row]) -> None:
        if self._given.output == NAME:
            for row in rows:
                print(printable(f"{_RESOURCES[row.kind]}/{row.name}"))
        elif rows:
            self._print_table(rows)

    def _print_table(self, rows: Sequence[Row]) -> None:
        if self._table is None:
            self._table = table_of(
                rows,
                with_namespace=self._given.all_namespaces,
                columns=None if self._given.output == WIDE else screen_columns(),
            )
            if self._table.left_out:
                print_hidden(self._table.left_out, self._table.columns)
            if not self._given.no_headers:
                print(self._table.header())
        of_problem = red if shows_colours() else str
        for row in rows:
            print(self._table.line(row, of_problem=of_problem))


def print_encoded(output: str, document: object) -> None:
    """In one of the formats that show a whole document."""
    print_document(output, msgspec.json.encode(document))


def add_row_output_flag(parser: FlagSet) -> None:
    """`-o`, `--output`."""
    about = " (default: table, and sentences with NAME)"
    add_output_flag(parser, (TABLE, WIDE, NAME), default="", about=about)
