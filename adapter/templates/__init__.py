"""Query templates: the part of Go's text/template that rules use, between `<<` and `>>`.

`compiled(text)` parses once and keeps the result; `Template.execute(record)` renders. Supported: fields, variables,
pipelines, `if`/`else if`/`else`, `with`, `range` (over slices and maps, with `break` and `continue`), comments, trim
markers, and the functions of `functions.BUILTINS`.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from adapter.templates.errors import TemplateExecutionError, TemplateSyntaxError
from adapter.templates.evaluate import execute
from adapter.templates.nodes import Node
from adapter.templates.parser import parse
from adapter.templates.references import root_fields
from adapter.templates.value_types import Record, Value

__all__ = [
    "Record",
    "Template",
    "TemplateExecutionError",
    "TemplateSyntaxError",
    "Value",
    "compiled",
]


class Template(msgspec.Struct, frozen=True):
    """A parsed template."""

    text: str
    nodes: tuple[Node, ...]

    def execute(self, argument: Value) -> str:
        """The text for one argument; raises `TemplateExecutionError`."""
        return execute(self.nodes, argument)

    def unknown_fields(self, known: Sequence[str]) -> Iterator[str]:
        """The fields of the argument that the template uses and that are not among `known`."""
        return (field for field in root_fields(self.nodes) if field not in known)


@lru_cache(maxsize=4096)
def compiled(text: str) -> Template:
    """The template of a text; raises `TemplateSyntaxError`."""
    return Template(text, parse(text))
