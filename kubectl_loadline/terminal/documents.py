"""`-o` of the commands: as text, or the same as JSON, YAML or a JSONPath template."""

import argparse
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from kubectl_loadline.terminal.jsonpath import Template
from kubectl_loadline.terminal.jsonpath_expression import InvalidTemplate
from wire.process.command_line.messages import printable
from wire.process.command_line.parsing import FlagSet
from wire.process.yaml_text import as_yaml

TEXT: Final = "text"
JSON: Final = "json"
YAML: Final = "yaml"
JSONPATH: Final = "jsonpath="
DOCUMENTS: Final = (JSON, YAML, JSONPATH)


class Formats(tuple[str, ...]):
    """The values of `-o`; `jsonpath=` is followed by a template."""

    __slots__ = ()

    def __contains__(self, value: object) -> bool:
        return super().__contains__(value) or is_jsonpath(str(value))


def is_jsonpath(output: str) -> bool:
    """Whether the format is a template."""
    return output.startswith(JSONPATH)


def is_document(output: str) -> bool:
    """Whether the format shows the whole document, or what a template finds in it."""
    return output in DOCUMENTS or is_jsonpath(output)


def add_output_flag(
    parser: FlagSet, others: Sequence[str] = (TEXT,), default: str = TEXT, *, about: str = ""
) -> None:
    """`-o`, `--output`: `others`, json, yaml or jsonpath=TEMPLATE. `about` says what is printed without it."""
    formats = Formats((*others, *DOCUMENTS))
    names = ", ".join((*others, JSON, YAML))
    parser.add_argument(
        "-o",
        "--output",
        type=_format,
        choices=formats,
        default=default,
        metavar="FORMAT",
        help=f"output format: {names}, or jsonpath=TEMPLATE as in kubectl{about}",
    )


def _format(text: str) -> str:
    if text in ("jsonpath", JSONPATH):
        raise argparse.ArgumentTypeError(
            "jsonpath needs a template, such as jsonpath='{.FIELD}': -o json shows the fields"
        )
    if is_jsonpath(text):
        try:
            Template(text.removeprefix(JSONPATH))
        except InvalidTemplate as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return text


def print_document(output: str, document: bytes, text: Callable[[], str] = str) -> None:
    """Print `document`, which is JSON, in the format of `-o`; for text what `text` returns, printable.

    Raises `InvalidTemplate` for an index that the document does not have.
    """
    if is_jsonpath(output):
        template = Template(output.removeprefix(JSONPATH))
        # As kubectl does, without a line break that the template does not have.
        print(template.rendered(msgspec.json.decode(document)), end="")
    elif output == JSON:
        print(msgspec.json.format(document, indent=2).decode())
    elif output == YAML:
        print(as_yaml(msgspec.json.decode(document)), end="")
    else:
        print(printable(text()))
