"""Finds code that compares the time of a reconcile itself, instead of asking the moment.

A value is a time of now if it is named so, is computed from one, is assigned one, or is passed one as a parameter.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

NOW = frozenset({"now", "now_unix_seconds", "now_seconds"})
# Functions whose result is a time if an argument is one.
_KEEP_TIMES = frozenset({"abs", "ceil", "float", "floor", "int", "max", "min", "round"})
_COMPARING_CALLS = frozenset({"bisect_left", "bisect_right", "max", "min", "sorted"})
_ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def comparing_functions(modules: Iterable[tuple[str, ast.AST]]) -> dict[str, list[int]]:
    """The lines with comparisons of now, by `path:function`."""
    functions = [
        (path, node)
        for path, tree in modules
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    by_name: dict[str, list[Function]] = defaultdict(list)
    for _, function in functions:
        by_name[function.name].append(function)
    times: dict[Function, set[str]] = {function: set(NOW) for _, function in functions}
    while any(_spread(function, by_name, times) for _, function in functions):
        pass
    found = {
        f"{path}:{function.name}": sorted(_comparisons(function, times[function]))
        for path, function in functions
    }
    return {where: lines for where, lines in found.items() if lines}


def _spread(
    function: Function, by_name: Mapping[str, list[Function]], times: dict[Function, set[str]]
) -> bool:
    """Follow the times of a function through its assignments, and to the functions that it calls; whether any is new."""
    before = sum(map(len, times.values()))
    for node in ast.walk(function):
        for target, value in _assigned(node):
            if isinstance(target, ast.Name) and _is_time(value, times[function]):
                times[function].add(target.id)
        if isinstance(node, ast.Call):
            for called in by_name.get(_name(node.func), ()):
                times[called] |= _passed(node, called, times[function])
    return sum(map(len, times.values())) > before


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets and their values."""
    match node:
        case ast.Assign(targets=targets, value=value):
            pairs = [(target, value) for target in targets]
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
            | ast.AugAssign(target=target, value=value)
        ):
            pairs = [(target, value)]
        case _:
            pairs = []
    for target, value in pairs:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            yield from zip(target.elts, value.elts, strict=False)
        else:
            yield target, value


def _passed(call: ast.Call, called: Function, times: set[str]) -> set[str]:
    """The parameters that get a time."""
    names = [each.arg for each in (*called.args.posonlyargs, *called.args.args)]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    positional = {
        name for name, value in zip(names, call.args, strict=False) if _is_time(value, times)
    }
    return positional | {
        each.arg for each in call.keywords if each.arg is not None and _is_time(each.value, times)
    }


def _is_time(value: ast.expr, times: set[str]) -> bool:
    match value:
        case ast.Name(id=name):
            return name in times
        case ast.Attribute(attr=name):
            return name in NOW
        case ast.BinOp(left=left, right=right):
            return _is_time(left, times) or _is_time(right, times)
        case ast.UnaryOp(operand=operand):
            return _is_time(operand, times)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_time(body, times) or _is_time(orelse, times)
        case ast.BoolOp(values=values) | ast.Tuple(elts=values):
            return any(_is_time(each, times) for each in values)
        case ast.Call(func=func, args=arguments) if _name(func) in _KEEP_TIMES:
            return any(_is_time(each, times) for each in arguments)
    return False


def _comparisons(function: Function, times: set[str]) -> set[int]:
    """Their lines."""
    lines = set()
    for node in ast.walk(function):
        match node:
            case ast.Compare(left=left, ops=operators, comparators=others):
                is_ordering = any(isinstance(each, _ORDERING) for each in operators)
                if is_ordering and any(_is_time(each, times) for each in (left, *others)):
                    lines.add(node.lineno)
            case ast.Call(func=func, args=arguments) if _name(func) in _COMPARING_CALLS:
                if any(_is_time(each, times) for each in arguments):
                    lines.add(node.lineno)
    return lines


def _name(called: ast.expr) -> str:
    match called:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
