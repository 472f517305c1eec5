"""Tokens to a syntax tree. The evaluator can run all that is accepted here; everything else is refused.

After Go's text/template/parse/parse.go. Refused although Go has it: named templates (`define`, `template`, `block`),
`nil`, and imaginary numbers.
"""

from collections.abc import Callable

from adapter.templates import literals
from adapter.templates.errors import TemplateSyntaxError
from adapter.templates.functions import BUILTINS
from adapter.templates.lexer import Kind, Token, tokens
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

_KEYWORDS = {
    "if",
    "with",
    "range",
    "else",
    "end",
    "break",
    "continue",
    "define",
    "template",
    "block",
}
_DEPTH_MAX = 100  # parentheses and blocks inside one another; people write three


def parse(text: str) -> tuple[Node, ...]:
    """The tree of a template; raises `TemplateSyntaxError`."""
    parser = _Parser(text)
    body, stopped_by = parser.body()
    if stopped_by:
        raise parser.error(f"unexpected <<{stopped_by}>>")
    return body


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(tokens(text))
        self._at = 0
        self._variables = ["$"]
        self._range_depth = 0
        self._depth = 0

    # --- tokens ---------------------------------------------------------------------------------------------------

    def error(self, problem: str, at: Token | None = None) -> TemplateSyntaxError:
        where = at or self._tokens[max(self._at - 1, 0)]
        return TemplateSyntaxError(problem, text=self._text, offset=where.offset)

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _peek_word(self) -> Token:
        while self._peek().kind is Kind.SPACE:
            self._next()
        return self._peek()

    def _next_word(self) -> Token:
        self._peek_word()
        return self._next()

    def _close(self, context: str) -> None:
        token = self._next_word()
        if token.kind is not Kind.RIGHT:
            raise self.error(f"unexpected {token.text!r} in {context}", token)

    # --- blocks ---------------------------------------------------------------------------------------------------

    def body(self) -> tuple[tuple[Node, ...], str]:
        """Nodes up to `end`, `else` or the end of the text, and which of them it was ("" for the last)."""
        nodes: list[Node] = []
        while True:
            token = self._next()
            if token.kind is Kind.END:
                return tuple(nodes), ""
            if token.kind is Kind.TEXT:
                nodes.append(Text(token.text))
                continue
            word = self._peek_word()
            if word.kind is not Kind.IDENTIFIER or word.text not in _KEYWORDS:
                nodes.append(Action(self._pipe("command", Kind.RIGHT)))
                continue
            self._next()
            if word.text in ("end", "else"):
                return tuple(nodes), self._terminator(word.text)
            nodes.append(self._keyword(word))

    def _terminator(self, word: str) -> str:
        following = self._peek_word()
        if (
            word == "else"
            and following.kind is Kind.IDENTIFIER
            and following.text in ("if", "with")
        ):
            return f"else {following.text}"
        self._close(word)
        return word

    def _keyword(self, word: Token) -> Node:
        match word.text:
            case "if":
                return If(*self._branch("if"))
            case "with":
                return With(*self._branch("with"))
            case "range":
                return Range(*self._branch("range"))
            case "break" | "continue":
                self._close(word.text)
                if not self._range_depth:
                    raise self.error(f"<<{word.text}>> outside <<range>>", word)
                return Break() if word.text == "break" else Continue()
        raise self.error(
            f"<<{word.text}>> is not supported: a query is one template, without named parts", word
        )

    def _branch(self, context: str) -> tuple[Pipe, tuple[Node, ...], tuple[Node, ...]]:
        opened, known = self._tokens[self._at - 1], len(self._variables)
        self._deeper(opened)
        pipe = self._pipe(context, Kind.RIGHT)
        self._range_depth += context == "range"
        body, stopped_by = self.body()
        self._range_depth -= context == "range"
        otherwise: tuple[Node, ...] = ()
        if stopped_by == f"else {context}" and context != "range":
            otherwise = (self._keyword(self._next_word()),)
            stopped_by = "end"  # one `end` closes the whole chain
        elif stopped_by.startswith("else "):
            raise self.error(f"unexpected <<{stopped_by}>> in <<{context}>>", opened)
        elif stopped_by == "else":
            otherwise, stopped_by = self.body()
        if stopped_by != "end":
            raise self.error(
                f"<<{context}>> is closed by <<{stopped_by}>>"
                if stopped_by
                else f"<<{context}>> is never closed",
                opened,
            )
        del self._variables[known:]
        self._depth -= 1
        return pipe, body, otherwise

    def _deeper(self, at: Token) -> None:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self.error(f"more than {_DEPTH_MAX} levels inside one another", at)

    # --- pipelines ------------------------------------------------------------------------------------------------

    def _pipe(self, context: str, end: Kind) -> Pipe:
        begin = self._peek_word()
        variables, assigns = self._declarations(context)
        commands: list[Command] = []
        while self._peek_word().kind is not end:
            commands.append(self._command())
        self._next()
        if not commands:
            raise self.error(f"missing value for {context}", begin)
        for stage, command in enumerate(commands[1:], start=2):
            if isinstance(command.words[0], Dot | Literal):
                raise self.error(f"non executable command in pipeline stage {stage}", begin)
        return Pipe(tuple(commands), variables, assigns)

    def _declarations(self, context: str) -> tuple[tuple[str, ...], bool]:
        """`$x :=`, `$x =` or, for a range, `$k, $v :=` in front of a pipeline."""
        begin, names = self._at, list[str]()
        while self._peek_word().kind is Kind.VARIABLE:
            names.append(self._next().text)
            separator = self._peek_word()
            if separator.kind in (Kind.DECLARE, Kind.ASSIGN):
                self._next()
                self._variables.extend(
                    names
                )  # also by `=`, so that an unknown one fails when it runs, as in Go
                return tuple(names), separator.kind is Kind.ASSIGN
            if separator.kind is not Kind.COMMA:
                break
            self._next()
            if context != "range" or len(names) > 1:
                raise self.error(f"too many declarations in {context}", separator)
            if self._peek_word().kind is not Kind.VARIABLE:
                raise self.error("range can only initialize variables", separator)
        self._at = begin  # no declaration after all: a variable as the first operand
        return (), False

    def _command(self) -> Command:
        words: list[Operand] = []
        while True:
            self._peek_word()
            operand = self._operand()
            if operand is not None:
                words.append(operand)
            token = self._peek()
            if token.kind is Kind.SPACE:
                self._next()
                continue
            if token.kind is Kind.PIPE:
                self._next()  # nothing need follow it: Go allows a last `|`
                break
            if token.kind in (Kind.RIGHT, Kind.CLOSE):
                break
            raise self.error(f"unexpected {token.text!r} in operand", token)
        if not words:
            raise self.error("empty command", token)
        return Command(tuple(words))

    # --- operands -------------------------------------------------------------------------------------------------

    def _operand(self) -> Operand | None:
        token = self._peek()
        build = _TERMS.get(token.kind)
        if build is None:
            return None
        self._next()
        term = build(self, token)
        fields = []
        while self._peek().kind is Kind.FIELD:
            fields.append(self._next().text[1:])
        return self._with_fields(term, tuple(fields), token) if fields else term

    def _with_fields(self, term: Operand, fields: tuple[str, ...], at: Token) -> Operand:
        match term:
            case Field(names, offset):
                return Field(names + fields, offset)
            case Variable(name, known, offset):
                return Variable(name, known + fields, offset)
            case Pipe():
                return Chain(term, fields)
        raise self.error(f"unexpected . after {at.text!r}", at)

    def _identifier(self, token: Token) -> Operand:
        if token.text in ("true", "false"):
            return Literal(token.text == "true")
        if token.text in BUILTINS:
            return Function(token.text)
        if token.text in _KEYWORDS | {"nil"}:
            raise self.error(f"{token.text} is not supported in a query template", token)
        raise self.error(f"function {token.text!r} not defined", token)

    def _variable(self, token: Token) -> Operand:
        if token.text not in self._variables:
            raise self.error(f"undefined variable {token.text!r}", token)
        return Variable(token.text, (), token.offset)

    def _literal(self, token: Token) -> Operand:
        try:
            return Literal(literals.read(token))
        except ValueError as e:
            raise self.error(str(e), token) from None

    def _parenthesis(self, token: Token) -> Operand:
        self._deeper(token)
        pipe = self._pipe("parenthesized pipeline", Kind.CLOSE)
        self._depth -= 1
        return pipe


_TERMS: dict[Kind, Callable[[_Parser, Token], Operand]] = {
    Kind.IDENTIFIER: _Parser._identifier,  # noqa: SLF001 - the parser's own table
    Kind.VARIABLE: _Parser._variable,  # noqa: SLF001
    Kind.NUMBER: _Parser._literal,  # noqa: SLF001
    Kind.CHARACTER: _Parser._literal,  # noqa: SLF001
    Kind.STRING: _Parser._literal,  # noqa: SLF001
    Kind.RAW_STRING: _Parser._literal,  # noqa: SLF001
    Kind.OPEN: _Parser._parenthesis,  # noqa: SLF001
    Kind.DOT: lambda _parser, _token: Dot(),
    Kind.FIELD: lambda _parser, token: Field((token.text[1:],), token.offset),
}
