"""What `check` found: the document of `--output json`. Fields are added, never renamed."""

from typing import Final

import msgspec

from adapter.config import ConfigProblem
from adapter.diagnosis.explanation import Finding
from adapter.diagnosis.rule_yields import Metric

SCHEMA: Final = "loadline.io/check/v1"

NAMES_MAX: Final = 100
"""Of the series' names so many are listed, beside their count."""


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One fault of the file, or one thing that is hardly meant."""

    path: str
    line: int
    problem: str
    fix: str

    @classmethod
    def of(cls, problem: ConfigProblem) -> "Problem":
        """As the configuration tells it."""
        return cls(path=problem.path, line=problem.line, problem=problem.problem, fix=problem.fix)


class Tried(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A question to the rule as the server would send it. `value` is a Quantity; empty when there was none."""

    metric: str
    of: str
    query: str
    rows: int
    value: str = ""


class RuleReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one rule comes to with the Prometheus there is."""

    rule: str
    backend: str
    yields: bool
    series_seen: int = 0
    series_names: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    tried: tuple[Tried, ...] = ()
    findings: tuple[Finding, ...] = ()


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics of a rule that a later one takes over."""

    rule: str
    message: str


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything. `ok` says what the exit code says; `resources` whose resources were taken, if any."""

    file: str
    ok: bool
    rule_count: int = 0
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    prometheus: str = ""
    resources: str = ""  # built-in, cluster, or nothing: Prometheus was not asked
    rules: tuple[RuleReport, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    schema: str = SCHEMA

    @property
    def warned(self) -> bool:
        """Whether anything is hardly meant."""
        return bool(self.warnings or self.overlaps or any(rule.findings for rule in self.rules))

    @property
    def unreachable(self) -> bool:
        """Whether something could not be asked, so that the check is not complete."""
        return any(
            finding.reason == "PrometheusDown" for rule in self.rules for finding in rule.findings
        )
