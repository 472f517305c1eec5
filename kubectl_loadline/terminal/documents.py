"""`-o` of the commands that print text: as text, or the same as JSON or YAML."""

from collections.abc import Callable
from typing import Final

import msgspec
import yaml

from wire.process.command_line.parsing import FlagSet

TEXT: Final = "text"
JSON: Final = "json"
YAML: Final = "yaml"


def add_output_flag(parser: FlagSet) -> None:
    """`-o`, `--output`: text, json or yaml."""
    parser.add_argument(
        "-o",
        "--output",
        choices=(TEXT, JSON, YAML),
        default=TEXT,
        metavar="FORMAT",
        help="output format: text, json or yaml",
    )


def rendered(output: str, document: bytes, text: Callable[[], str]) -> str:
    """`document`, which is JSON, in the format of `-o`; for text what `text` returns. Without a line break at the end."""
    if output == JSON:
        return msgspec.json.format(document, indent=2).decode()
    if output == YAML:
        # Wide lines: a folded sentence cannot be searched for.
        shown = yaml.safe_dump(
            msgspec.json.decode(document), sort_keys=False, allow_unicode=True, width=10_000
        )
        return shown.removesuffix("\n")
    return text()
