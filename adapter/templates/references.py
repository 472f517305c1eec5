"""The fields of its argument that a template uses, except inside a `with` or `range`, which changes the dot."""

from collections.abc import Iterable, Iterator

from adapter.templates.nodes import (
    Action,
    Chain,
    Field,
    If,
    Node,
    Operand,
    Pipe,
    Range,
    Variable,
    With,
)


def root_fields(nodes: Iterable[Node], *, dot_is_root: bool = True) -> Iterator[str]:
    """Names, in the order written, repeated as written."""
    for node in nodes:
        match node:
            case Action(pipe):
                yield from _of_pipe(pipe, dot_is_root)
            case If(pipe, body, otherwise):
                yield from _of_pipe(pipe, dot_is_root)
                yield from root_fields(body, dot_is_root=dot_is_root)
                yield from root_fields(otherwise, dot_is_root=dot_is_root)
            case With(pipe, body, otherwise) | Range(pipe, body, otherwise):
                yield from _of_pipe(pipe, dot_is_root)
                yield from root_fields(body, dot_is_root=False)
                yield from root_fields(otherwise, dot_is_root=dot_is_root)


def _of_pipe(pipe: Pipe, dot_is_root: bool) -> Iterator[str]:
    for command in pipe.commands:
        for word in command.words:
            yield from _of_operand(word, dot_is_root)


def _of_operand(operand: Operand, dot_is_root: bool) -> Iterator[str]:
    match operand:
        case Field(names) if dot_is_root:
            yield names[0]
        case Variable("$", fields) if fields:
            yield fields[0]
        case Chain(pipe):
            yield from _of_pipe(pipe, dot_is_root)
        case Pipe():
            yield from _of_pipe(operand, dot_is_root)
