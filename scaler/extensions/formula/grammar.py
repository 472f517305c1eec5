"""The text of a formula as a tree, by precedence climbing.

    formula    = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
    sum        = product { ("+" | "-") product }
    product    = unary { ("*" | "/") unary }
    unary      = "-" unary | fallback
    fallback   = primary { "??" primary }
    primary    = number | name | "'" name "'" | function "(" formula { "," formula } ")" | "(" formula ")"

`??` binds tightest, as in expr-lang, whose expressions KEDA's scalingModifiers use: `queue ?? 0 / 30` is `(queue ?? 0) / 30`.
"""

import re

import msgspec

from scaler.extensions.kept_results import kept

LENGTH_MAX = 1024
# A formula needs as much as 50 times its length.
LONG_CHARACTERS = 128
DEPTH_MAX = 50
HEIGHT_MAX = 100

COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")
# The least and the largest number of arguments; None: no limit but the length.
FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "min": (1, None),
    "max": (1, None),
    "avg": (1, None),
    "ceil": (1, 1),
    "floor": (1, 1),
    "clamp": (3, 3),
}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|'(?P<quoted>[^']*)'"
    r"|(?P<symbol>\?\?|<=|>=|==|!=|[-+*/<>(),]))",
    re.ASCII,
)
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")


class InvalidFormulaError(ValueError):
    """The text is not a formula; the message has the position, counted from 1, and the fix."""

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(f"position {position}: {problem}")


class Number(msgspec.Struct, frozen=True):
    """A constant."""

    value: float


class Metric(msgspec.Struct, frozen=True):
    """The value of a metric by its name."""

    name: str
    position: int


class Operation(msgspec.Struct, frozen=True):
    """An operator or a function with its operands; `negate` is the unary minus."""

    operator: str
    operands: "tuple[Node, ...]"
    position: int
    height: int = 1
    """How many operations follow each other at most, this one included."""


Node = Number | Metric | Operation


class Formula(msgspec.Struct, frozen=True):
    """A parsed formula, and the metrics that it names, each once, in their order."""

    root: Node
    metrics: tuple[Metric, ...]


class _Token(msgspec.Struct, frozen=True):
    kind: str
    text: str
    position: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


@kept(lambda text: len(text) > LONG_CHARACTERS)
def parse(text: str) -> Formula:
    """Parse a formula. Raises `InvalidFormulaError`."""
    if len(text) > LENGTH_MAX:
        raise InvalidFormulaError(
            LENGTH_MAX + 1, f"a formula has at most {LENGTH_MAX} characters: shorten it"
        )
    parser = _Parser(_tokens(text))
    root = parser.formula(0)
    parser.end()
    metrics: dict[str, Metric] = {}
    for each in parser.metrics:
        metrics.setdefault(each.name, each)
    return Formula(root, tuple(metrics.values()))


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place = 0
    end = len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None or found.lastgroup is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            raise InvalidFormulaError(place + 1, _unexpected_character(text[place]))
        tokens.append(
            _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup) + 1)
        )
        place = found.end()
    return [*tokens, _Token("end", "", len(text) + 1)]


def _unexpected_character(character: str) -> str:
    fixes = {
        '"': "write the name of a metric in single quotes",
        "'": "the closing quote is missing",
        "=": "write == to compare",
        "^": "powers are not supported: multiply",
        "%": "remainders are not supported",
        "?": "write ?? for a value in place of a failed metric",
    }
    fix = fixes.get(character, "use numbers, names, + - * /, comparisons, ?? and functions")
    return f"unexpected {character!r}: {fix}"


class _Parser:
    """Recursive descent; `depth` counts the parentheses, functions and operators around a part."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._following = iter(tokens)
        self._current = next(self._following)
        self.metrics: list[Metric] = []

    def formula(self, depth: int) -> Node:
        """A comparison, or a sum."""
        left = self._sum(depth)
        operator = self._take(*COMPARISONS)
        if operator is None:
            return left
        right = self._sum(depth)
        second = self._current
        if second.text in COMPARISONS:
            raise InvalidFormulaError(
                second.position, "comparisons cannot be chained: put one of them in parentheses"
            )
        return _operation(operator, left, right)

    def end(self) -> None:
        """Nothing may follow."""
        if self._current.kind != "end":
            raise InvalidFormulaError(
                self._current.position, f"expected an operator or the end, not {self._current}"
            )

    def _sum(self, depth: int) -> Node:
        left = self._product(depth)
        while operator := self._take("+", "-"):
            left = _operation(operator, left, self._product(depth))
        return left

    def _product(self, depth: int) -> Node:
        left = self._unary(depth)
        while operator := self._take("*", "/"):
            left = _operation(operator, left, self._unary(depth))
        return left

    def _unary(self, depth: int) -> Node:
        if operator := self._take("-"):
            operand = self._unary(self._deeper(depth))
            return _operation(operator, operand, name="negate")
        left = self._primary(depth)
        while operator := self._take("??"):
            left = _operation(operator, left, self._primary(depth))
        return left

    def _primary(self, depth: int) -> Node:
        token = self._current
        self._advance()
        match token.kind:
            case "number":
                return Number(_finite(token))
            case "quoted":
                return self._metric(token)
            case "name":
                if self._current.text == "(" and self._current.kind == "symbol":
                    return self._call(token, depth)
                return self._metric(token)
        if token.text == "(":
            inside = self.formula(self._deeper(depth))
            self._close()
            return inside
        raise InvalidFormulaError(
            token.position, f"expected a number, a metric or a function, not {token}"
        )

    def _metric(self, token: _Token) -> Metric:
        if not _LABEL.fullmatch(token.text) or len(token.text) > 63:
            raise InvalidFormulaError(
                token.position,
                f"{token.text!r} is not the name of a metric, which is a DNS label: lower case letters, digits and '-'",
            )
        metric = Metric(token.text, token.position)
        self.metrics.append(metric)
        return metric

    def _call(self, token: _Token, depth: int) -> Node:
        limits = FUNCTIONS.get(token.text)
        if limits is None:
            known = ", ".join(FUNCTIONS)
            raise InvalidFormulaError(
                token.position, f"unknown function {token.text!r}: use one of {known}"
            )
        self._advance()
        arguments = [self.formula(self._deeper(depth))]
        while self._take(","):
            arguments.append(self.formula(self._deeper(depth)))
        self._close()
        least, most = limits
        if len(arguments) < least or (most is not None and len(arguments) > most):
            expected = "1 argument" if most == 1 else "3 arguments: value, lowest, highest"
            raise InvalidFormulaError(
                token.position, f"{token.text} has {expected}, not {len(arguments)}"
            )
        return _operation(token, *arguments)

    def _close(self) -> None:
        if not self._take(")"):
            raise InvalidFormulaError(
                self._current.position, f"expected ')' or an operator, not {self._current}"
            )

    def _deeper(self, depth: int) -> int:
        if depth >= DEPTH_MAX:
            raise InvalidFormulaError(
                self._current.position,
                f"nested deeper than {DEPTH_MAX} levels: remove parentheses",
            )
        return depth + 1

    def _advance(self) -> None:
        # The last token is the end, which stays the current one.
        self._current = next(self._following, self._current)

    def _take(self, *symbols: str) -> _Token | None:
        token = self._current
        if token.text not in symbols or token.kind != "symbol":
            return None
        self._advance()
        return token


def _operation(token: _Token, *operands: Node, name: str = "") -> Operation:
    """An operation whose evaluation needs a bounded stack."""
    height = 1 + max(each.height if isinstance(each, Operation) else 0 for each in operands)
    if height > HEIGHT_MAX:
        raise InvalidFormulaError(
            token.position, f"more than {HEIGHT_MAX} operations follow each other: shorten it"
        )
    return Operation(name or token.text, operands, token.position, height)


def _finite(token: _Token) -> float:
    value = float(token.text)
    if value == float("inf"):
        raise InvalidFormulaError(token.position, f"{token.text} is too large")
    return value
