"""The mutants that mutmut made of a module, and those of them that are worth a test run.

mutmut writes each variant of a function beside the function. Left out are mutants that change a text, put None or an
empty text in place of a value, or leave out an argument: strict type checks refuse most of them, any call of the
function fails on the others, and none is a mistake in what is computed.
"""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Sequence

import msgspec

_VARIANT = re.compile(r"(?P<function>x.+)__mutmut_(?P<number>orig|\d+)")
_CLASS_SEPARATOR = "ǁ"


class Mutant(msgspec.Struct, frozen=True, order=True):
    """`function` and `change` stay the same while the function does; `mutmut_name` has a number, which does not."""

    function: str
    change: str
    mutmut_name: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by in the recorded results."""
        return self.function, self.change


def mutants_of(generated: str, module: str) -> list[Mutant]:
    """All mutants worth a run, of the text of a module that mutmut generated."""
    variants: dict[str, dict[str, ast.AST]] = {}
    for node in ast.walk(ast.parse(generated)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if (found := _VARIANT.fullmatch(node.name)) is not None:
            variants.setdefault(found["function"], {})[found["number"]] = node
    return [
        each
        for function, of_function in variants.items()
        for each in _of_function(function, of_function, module)
    ]


def _of_function(function: str, variants: dict[str, ast.AST], module: str) -> list[Mutant]:
    original = variants.pop("orig")
    is_method = function.startswith(f"x{_CLASS_SEPARATOR}")
    parts = function.split(_CLASS_SEPARATOR)[1:] if is_method else [function.removeprefix("x_")]
    seen: Counter[str] = Counter()
    found = []
    for number, variant in sorted(variants.items(), key=lambda each: int(each[0])):
        differing = _differing(original, variant)
        if not _is_worth_a_run(*differing[-1]):
            continue
        change = _change(differing)
        seen[change] += 1
        if seen[change] > 1:
            change = f"{change} ({seen[change]})"
        mutmut_name = f"{module}.{function}__mutmut_{number}"
        found.append(Mutant(".".join((module, *parts)), change, mutmut_name))
    return found


def chosen(mutants: Sequence[Mutant], count: int) -> list[Mutant]:
    """So many of them, always the same: what is added or changed elsewhere replaces few of the others."""
    return sorted(sorted(mutants, key=_order)[:count])


def _order(mutant: Mutant) -> str:
    return hashlib.sha256("\n".join(mutant.key).encode()).hexdigest()


def _is_worth_a_run(before: ast.AST, after: ast.AST) -> bool:
    if isinstance(before, ast.Constant) and isinstance(before.value, str):
        return False
    if isinstance(after, ast.Constant) and (after.value is None or after.value == ""):
        return False
    return not (isinstance(before, ast.Call) and isinstance(after, ast.Call))


def _differing(before: ast.AST, after: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """What contains all that differs, from the function to the smallest part; names of functions do not count."""
    pairs = [(before, after)]
    while (within := _within(*pairs[-1])) is not None:
        pairs.append(within)
    return pairs


def _within(before: ast.AST, after: ast.AST) -> tuple[ast.AST, ast.AST] | None:
    if type(before) is not type(after):
        return None
    parts: list[tuple[object, object]] = []
    for field in before._fields:
        one, other = getattr(before, field), getattr(after, field)
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return None
            parts.extend(zip(one, other, strict=True))
        elif not (field == "name" and isinstance(before, ast.FunctionDef | ast.AsyncFunctionDef)):
            parts.append((one, other))
    different = [pair for pair in parts if _text(pair[0]) != _text(pair[1])]
    if len(different) != 1:
        return None
    one, other = different[0]
    return (one, other) if isinstance(one, ast.AST) and isinstance(other, ast.AST) else None


def _text(part: object) -> str:
    return ast.dump(part) if isinstance(part, ast.AST) else repr(part)


def _change(differing: list[tuple[ast.AST, ast.AST]]) -> str:
    """`old -> new` of the smallest part that can be understood alone."""
    for before, after in reversed(differing):
        is_alone = isinstance(before, ast.expr | ast.stmt) and not isinstance(
            before, ast.Constant | ast.Name
        )
        if is_alone and type(before) is type(after):
            return f"{_first_line(before)} -> {_first_line(after)}"
    before, after = differing[-1]
    return f"{_first_line(before)} -> {_first_line(after)}"


def _first_line(part: ast.AST) -> str:
    return ast.unparse(part).partition("\n")[0]
