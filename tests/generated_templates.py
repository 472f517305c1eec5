"""Random query templates, for the proof that a wide query has the rows of narrow ones."""

import random

LABELS = ("namespace", "pod", "queue", "code")
NAMES = ("a", "b", "c")
FUNCTIONS = ("abs({})", 'label_replace({}, "copy", "$1", "code", "(.*)")')


class TemplateGenerator:
    """Templates from a seed."""

    def __init__(self, seed: int, functions: tuple[str, ...] = FUNCTIONS, *, at: str = "") -> None:
        """`functions` are formats with a place for an instant vector; `at` is an `@` modifier for every selector."""
        self._random = random.Random(seed)
        self._functions = functions
        self._at = at

    def template(self) -> str:
        """One template. Most have the form that rules have, with an aggregation around everything."""
        inner = self._expression(self._random.randint(0, 3))
        return self._aggregation(inner) if self._random.random() < 0.7 else inner

    def _expression(self, depth: int) -> str:
        if depth == 0:
            return self._selector()
        kind = self._random.choices(
            ("aggregation", "operation", "scalar", "function", "minus"), (4, 4, 2, 2, 1)
        )[0]
        inner = self._expression(depth - 1)
        if kind == "aggregation":
            return self._aggregation(inner)
        if kind == "operation":
            return self._operation(inner, self._expression(self._random.randint(0, depth - 1)))
        if kind == "scalar":
            return f"({inner} {self._random.choice('+-*><')} {self._random.randint(0, 3)})"
        if kind == "function":
            return self._random.choice(self._functions).format(inner)
        return f"-({inner})"

    def _selector(self) -> str:
        matchers = []
        if self._random.random() < 0.85:
            matchers.append("<<.LabelMatchers>>")
        if self._random.random() < 0.3:
            matchers.append(self._random.choice(('code="200"', 'pod!=""', 'namespace=~"n.*"')))
        name = self._random.choice(NAMES)
        selector = f"{name}{{{','.join(matchers)}}}"
        if self._random.random() < 0.3:
            return f"sum_over_time({selector}[1m]{self._at})"
        return selector + self._at

    def _aggregation(self, inner: str) -> str:
        operator = self._random.choice(("sum", "sum", "max", "min", "count"))
        grouping = self._random.choices(
            (
                " by (<<.GroupBy>>)",
                f" by ({self._labels()})",
                f" without ({self._labels()})",
                "",
                " by (<<.GroupBy>>, code)",
            ),
            (6, 2, 2, 1, 1),
        )[0]
        if grouping == " by (<<.GroupBy>>, code)":
            return f"{operator} by (code) ({inner})"
        if self._random.random() < 0.5:
            return f"{operator}{grouping} ({inner})"
        return f"{operator}({inner}){grouping}"

    def _operation(self, left: str, right: str) -> str:
        operator = self._random.choice(("+", "-", "*", ">", "and", "or", "unless"))
        matching = self._random.choice(
            (
                "",
                "",
                f"on ({self._labels()})",
                f"ignoring ({self._labels()})",
                "on (<<.GroupBy>>)",
                "on (namespace, pod)",
            )
        )
        if operator not in ("and", "or", "unless") and matching and self._random.random() < 0.4:
            side = self._random.choice(("left", "right"))
            matching += f" group_{side} ({self._random.choice(('', '', 'queue', 'extra'))})"
        return f"({left} {operator} {matching} {right})"

    def _labels(self) -> str:
        return ",".join(self._random.sample(LABELS, self._random.randint(0, 3)))
