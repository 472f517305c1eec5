"""A syntax tree and an argument to text, after Go's text/template/exec.go."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from adapter.templates.errors import TemplateExecutionError
from adapter.templates.functions import BUILTINS
from adapter.templates.nodes import (
    Action,
    Break,
    Chain,
    Command,
    Continue,
    Dot,
    Field,
    Function,
    If,
    Literal,
    Node,
    Operand,
    Pipe,
    Range,
    Text,
    Variable,
    With,
)
from adapter.templates.value_types import (
    NO_VALUE,
    NoValue,
    Record,
    Value,
    printed,
    truth,
    type_name,
)


def execute(nodes: Sequence[Node], argument: Value) -> str:
    """The text of a template for one argument; raises `TemplateExecutionError`."""
    run = _Run(argument)
    run.walk(nodes, argument)
    return "".join(run.out)


class _Leave(Exception):
    """`<<break>>`, caught by the range that it leaves."""


class _Skip(Exception):
    """`<<continue>>`, caught by its range."""


class _Run:
    def __init__(self, argument: Value) -> None:
        self.out: list[str] = []
        self._variables: list[tuple[str, Value]] = [("$", argument)]

    # --- statements -----------------------------------------------------------------------------------------------

    def walk(self, nodes: Iterable[Node], dot: Value) -> None:
        for node in nodes:
            self._statement(node, dot)

    def _statement(self, node: Node, dot: Value) -> None:
        match node:
            case Text(text):
                self.out.append(text)
            case Action(pipe):
                value = self._pipe(pipe, dot)
                if not pipe.variables:
                    self.out.append(printed(value))
            case If() | With():
                self._branch(node, dot)
            case Range():
                self._range(node, dot)
            case Break():
                raise _Leave
            case Continue():
                raise _Skip

    def _branch(self, node: If | With, dot: Value) -> None:
        mark = len(self._variables)
        value = self._pipe(node.pipe, dot)
        if truth(value):
            self.walk(node.body, value if isinstance(node, With) else dot)
        else:
            self.walk(node.otherwise, dot)
        del self._variables[mark:]

    def _range(self, node: Range, dot: Value) -> None:
        mark = len(self._variables)
        value = self._pipe(node.pipe, dot)
        body_mark = len(self._variables)
        elements = _elements(value)
        try:
            for index, element in elements:
                self._set_range_variables(node.pipe, index, element)
                with contextlib.suppress(_Skip):
                    self.walk(node.body, element)
                del self._variables[body_mark:]
        except _Leave:
            pass
        del self._variables[mark:]
        if not elements:
            self.walk(node.otherwise, dot)

    def _set_range_variables(self, pipe: Pipe, index: Value, element: Value) -> None:
        """With one variable it is the element; with two, the index comes first."""
        for name, value in zip(
            pipe.variables, (index, element)[-len(pipe.variables) :], strict=False
        ):
            self._assign(name, value)

    # --- pipelines ------------------------------------------------------------------------------------------------

    def _pipe(self, pipe: Pipe, dot: Value) -> Value:
        value: Value | None = None
        for command in pipe.commands:
            value = self._command(command, dot, value)
        assert value is not None  # noqa: S101 - the parser refuses an empty pipeline
        for name in pipe.variables:
            if pipe.assigns:
                self._assign(name, value)
            else:
                self._variables.append((name, value))
        return value

    def _command(self, command: Command, dot: Value, final: Value | None) -> Value:
        """One stage; `final` is the value of the previous stage, the last argument of a function."""
        first, *rest = command.words
        if isinstance(first, Function):
            return self._call(first.name, rest, dot, final)
        if rest or final is not None:
            raise TemplateExecutionError(
                "can't give argument to non-function: only a function takes arguments"
            )
        return self._operand(first, dot)

    def _call(self, name: str, words: Sequence[Operand], dot: Value, final: Value | None) -> Value:
        builtin, given = BUILTINS[name], len(words) + (final is not None)
        if given < builtin.least or (builtin.most is not None and given > builtin.most):
            wanted = f"at least {builtin.least}" if builtin.most is None else str(builtin.most)
            raise TemplateExecutionError(
                f"wrong number of args for {name}: want {wanted} got {given}"
            )
        if name in ("and", "or"):
            return self._decide(name, words, dot, final)
        arguments = [self._operand(word, dot) for word in words]
        return builtin.call(*arguments, *([] if final is None else [final]))

    def _decide(
        self, name: str, words: Sequence[Operand], dot: Value, final: Value | None
    ) -> Value:
        """The first argument that decides, or the last one; the arguments after it are not evaluated."""
        value: Value = NO_VALUE
        for word in words:
            value = self._operand(word, dot)
            if truth(value) == (name == "or"):
                return value
        return value if final is None else final

    # --- operands -------------------------------------------------------------------------------------------------

    def _operand(self, operand: Operand, dot: Value) -> Value:
        match operand:
            case Dot():
                return dot
            case Literal(value):
                return value
            case Field(names):
                return _fields(dot, names)
            case Variable(name, fields):
                return _fields(self._variable(name), fields)
            case Chain(pipe, fields):
                return _fields(self._pipe(pipe, dot), fields)
            case Function(name):
                return self._call(name, (), dot, None)
        return self._pipe(operand, dot)

    def _variable(self, name: str) -> Value:
        for known, value in reversed(self._variables):
            if known == name:
                return value
        raise TemplateExecutionError(f"undefined variable: {name}")

    def _assign(self, name: str, value: Value) -> None:
        for at in range(len(self._variables) - 1, -1, -1):
            if self._variables[at][0] == name:
                self._variables[at] = (name, value)
                return
        raise TemplateExecutionError(f"undefined variable: {name}")


def _fields(value: Value, names: Sequence[str]) -> Value:
    for name in names:
        value = _field(value, name)
    return value


def _field(value: Value, name: str) -> Value:
    match value:
        case Record(fields):
            if name in fields:
                return fields[name]
            raise TemplateExecutionError(
                f"can't evaluate field {name}: there are {', '.join(f'.{each}' for each in fields)}"
            )
        case Mapping():
            return value.get(name, NO_VALUE)
        case NoValue():
            return NO_VALUE
    raise TemplateExecutionError(f"can't evaluate field {name} in type {type_name(value)}")


def _elements(value: Value) -> list[tuple[Value, Value]]:
    match value:
        case Mapping():
            return [(key, value[key]) for key in sorted(value)]
        case NoValue():
            return []
        case str() | bool() | int() | float() | Record():
            raise TemplateExecutionError(f"range can't iterate over {printed(value)}")
    return list(enumerate(value))
