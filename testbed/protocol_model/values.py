"""Reads the states that TLC writes: values of TLA+ as those of Python."""

import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(r'\s*(<<|>>|\|->|:>|@@|[\[\](){},]|"[^"]*"|\w+)')
_CONSTANTS = {"TRUE": True, "FALSE": False}


def states(text: str) -> Iterator[dict[str, Any]]:
    """The states of one file of `-simulate`, each by the names of its variables."""
    for block in re.split(r"STATE_\d+ ==", text)[1:]:
        variables = re.split(r"^/\\ ", block.partition("\n\n")[0], flags=re.MULTILINE)[1:]
        yield {name: value(text) for name, _, text in (each.partition(" = ") for each in variables)}


def value(text: str) -> Any:
    """Sequences and sets are lists, records and functions dictionaries with names as keys."""
    return _Values(_TOKEN.findall(text)).next()


class _Values:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def next(self) -> Any:
        found = self._taken()
        if found == "<<":
            return self._listed(">>")
        if found == "{":
            return sorted(self._listed("}"), key=str)
        if found == "[":
            return self._mapped("|->", ",", "]")
        if found == "(":
            return self._mapped(":>", "@@", ")")
        if found.startswith('"'):
            return found[1:-1]
        return (
            _CONSTANTS[found] if found in _CONSTANTS else int(found) if found.isdigit() else found
        )

    def _listed(self, end: str) -> list[Any]:
        found = []
        while not self._skipped(end):
            found.append(self.next())
            self._skipped(",")
        return found

    def _mapped(self, arrow: str, comma: str, end: str) -> dict[str, Any]:
        found = {}
        while not self._skipped(end):
            key = str(self.next())
            if not self._skipped(arrow):
                raise ValueError(f"{arrow} is missing after {key}")
            found[key] = self.next()
            self._skipped(comma)
        return found

    def _taken(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _skipped(self, token: str) -> bool:
        is_next = self._tokens[self._at] == token
        self._at += is_next
        return is_next
