"""What `check` found: the document of `--output json`. Fields may be added and are never renamed."""

from typing import Final

import msgspec

from adapter.config import ConfigProblem
from adapter.diagnosis.explanation import Finding
from adapter.diagnosis.rule_yields import Metric

SCHEMA: Final = "loadline.io/check/v1"

NAMES_MAX: Final = 100
"""How many names of series are listed, beside their count."""


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One error or warning about the file. docs/check.md has a section for each `code`."""

    code: str
    path: str
    line: int
    problem: str
    fix: str

    @classmethod
    def of(cls, problem: ConfigProblem) -> "Problem":
        """From a problem of the configuration."""
        return cls(
            code=problem.code,
            path=problem.path,
            line=problem.line,
            problem=problem.problem,
            fix=problem.fix,
        )


class Tried(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A request answered by the rule as the server would. `value` is a Quantity; empty when there is none."""

    metric: str
    of: str
    query: str
    rows: int
    value: str = ""


class RuleReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one rule yields from this Prometheus."""

    rule: str
    backend: str
    yields: bool
    series_seen: int = 0
    series_names: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    tried: tuple[Tried, ...] = ()
    findings: tuple[Finding, ...] = ()


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics of a rule that a later rule serves instead."""

    rule: str
    message: str


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole report. `ok` says what the exit code says; `resources` where the known resources come from."""

    file: str
    ok: bool
    rule_count: int = 0
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    prometheus: str = ""
    resources: str = ""  # built-in, cluster, or empty: no Prometheus was given
    rules: tuple[RuleReport, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    schema: str = SCHEMA

    @property
    def warned(self) -> bool:
        """Whether there is any warning."""
        return bool(self.warnings or self.overlaps or any(rule.findings for rule in self.rules))

    @property
    def unreachable(self) -> bool:
        """Whether something could not be reached, so that the check is incomplete."""
        return any(
            finding.reason == "PrometheusDown" for rule in self.rules for finding in rule.findings
        )
