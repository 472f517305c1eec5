"""PURE  Medians and ratios of measured rounds, as a table or JSON.

The machine may be shared and noisy, so programs take turns, and each round is compared with the same round of the
reference: other load affects both.
"""

import math
import statistics
from collections.abc import Mapping, Sequence

import msgspec

Figures = Mapping[str, float]
"""Values by name, with the unit last: `requests_per_second`, `cpu_ms_per_request`."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of one program in one case."""

    case: str
    program: str
    number: int
    figures: Figures


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one benchmark."""

    benchmark: str
    setting: Mapping[str, float | str]
    reference: str  # the program to which the others are compared
    rounds: tuple[Round, ...]

    @property
    def cases(self) -> list[str]:
        """The cases in the order of measurement."""
        return list(dict.fromkeys(each.case for each in self.rounds))

    def programs(self, case: str) -> list[str]:
        """The programs of a case in the order of their turns."""
        return list(dict.fromkeys(each.program for each in self.rounds if each.case == case))

    def medians(self, case: str, program: str) -> dict[str, float]:
        """The median round of each figure."""
        return _medians([each.figures for each in self._of(case, program)])

    def ratios(self, case: str, program: str) -> dict[str, float]:
        """The median of (program / reference), round by round; a figure that is 0 for the reference is omitted."""
        reference = {each.number: each.figures for each in self._of(case, self.reference)}
        pairs = [
            _divided(each.figures, reference[each.number])
            for each in self._of(case, program)
            if each.number in reference
        ]
        return _medians(pairs)

    def _of(self, case: str, program: str) -> list[Round]:
        return [r for r in self.rounds if (r.case, r.program) == (case, program)]


def percentile(sorted_values: Sequence[float], percent: float) -> float:
    """The smallest value that is at least as large as `percent` of the values (nearest rank)."""
    rank = max(1, math.ceil(len(sorted_values) * percent / 100))
    return sorted_values[rank - 1]


def table(result: Result) -> str:
    """Each case with a row per program, followed by a row with its ratios to the reference."""
    settings = ", ".join(f"{name} {value}" for name, value in result.setting.items())
    blocks = [f"{result.benchmark} ({settings}); medians of the rounds"]
    blocks += ["\n".join(_case_lines(result, case)) for case in result.cases]
    return "\n\n".join(blocks)


def document(results: Sequence[Result]) -> bytes:
    """The results as JSON, with every round."""
    return msgspec.json.format(
        msgspec.json.encode(
            [
                {
                    "benchmark": each.benchmark,
                    "setting": each.setting,
                    "reference": each.reference,
                    "cases": {case: _case_document(each, case) for case in each.cases},
                    "rounds": each.rounds,
                }
                for each in results
            ]
        ),
        indent=2,
    )


def _case_document(result: Result, case: str) -> dict[str, dict[str, dict[str, float]]]:
    return {
        program: {
            "medians": result.medians(case, program),
            f"ratios to {result.reference}": result.ratios(case, program),
        }
        for program in result.programs(case)
    }


def _case_lines(result: Result, case: str) -> list[str]:
    names = list(
        dict.fromkeys(name for each in result.rounds if each.case == case for name in each.figures)
    )
    rows = [[case, *(name.replace("_", " ") for name in names)]]
    for program in result.programs(case):
        found = result.medians(case, program)
        rows.append([program, *(_number(found.get(name)) for name in names)])
        if program != result.reference and (ratios := result.ratios(case, program)):
            rows.append([f"  / {result.reference}", *(_ratio(ratios.get(n)) for n in names)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]


def _medians(rounds: Sequence[Figures]) -> dict[str, float]:
    names = dict.fromkeys(name for figures in rounds for name in figures)
    return {
        name: round(statistics.median(f[name] for f in rounds if name in f), 4) for name in names
    }


def _divided(figures: Figures, by: Figures) -> dict[str, float]:
    return {name: value / by[name] for name, value in figures.items() if by.get(name)}


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"x {value:.2f}"
