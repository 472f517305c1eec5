"""The syntax tree of a template, from the parser to the evaluator. Names follow Go's text/template/parse."""

import msgspec

Scalar = str | int | float | bool


class Dot(msgspec.Struct, frozen=True):
    """`.`: the value in focus."""


class Literal(msgspec.Struct, frozen=True):
    """A string, number, character or boolean written out."""

    value: Scalar


class Field(msgspec.Struct, frozen=True):
    """`.Series`, `.A.B`: fields of the value in focus."""

    names: tuple[str, ...]
    offset: int


class Variable(msgspec.Struct, frozen=True):
    """`$x`, `$.Series`: a variable and fields of it. `$` itself is the template's whole argument."""

    name: str
    fields: tuple[str, ...]
    offset: int


class Function(msgspec.Struct, frozen=True):
    """The name of a built-in function, in the place of an operand."""

    name: str


class Chain(msgspec.Struct, frozen=True):
    """`(index .A 1).B`: fields of the value of a parenthesis."""

    operand: "Pipe"
    fields: tuple[str, ...]


class Command(msgspec.Struct, frozen=True):
    """One stage of a pipeline: an operand, or a function and its arguments."""

    words: tuple["Operand", ...]


class Pipe(msgspec.Struct, frozen=True):
    """`a | b 1 | c`, each stage's value being the last argument of the next; or with `$x :=` / `$x =` in front."""

    commands: tuple[Command, ...]
    variables: tuple[str, ...] = ()
    assigns: bool = False  # `=`: the variable exists already


Operand = Dot | Literal | Field | Variable | Function | Chain | Pipe


class Text(msgspec.Struct, frozen=True):
    """The text outside the delimiters, copied."""

    text: str


class Action(msgspec.Struct, frozen=True):
    """`<<pipeline>>`: printed, unless it only sets a variable."""

    pipe: Pipe


class If(msgspec.Struct, frozen=True):
    """`<<if>> <<else>> <<end>>`."""

    pipe: Pipe
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]


class With(msgspec.Struct, frozen=True):
    """Like `If`, with the value in focus inside."""

    pipe: Pipe
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]


class Range(msgspec.Struct, frozen=True):
    """`<<range>>`: the body once per element, the `<<else>>` part when there is none."""

    pipe: Pipe
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]


class Break(msgspec.Struct, frozen=True):
    """`<<break>>`: leave the innermost range."""


class Continue(msgspec.Struct, frozen=True):
    """`<<continue>>`: on to the next element of the innermost range."""


Node = Text | Action | If | With | Range | Break | Continue
