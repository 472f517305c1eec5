"""The report for people: faults first, then rule by rule."""

from collections.abc import Iterator

from adapter.diagnosis.check_report import Report, RuleReport, Tried
from adapter.model.wording import some

METRICS_SHOWN_MAX = 10
UNREACHABLE = "PrometheusDown"


def text_of(report: Report) -> str:
    """Ends without a newline."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    for error in report.errors:
        yield f"{report.file}: {_where(error.line, error.path)}: {error.problem}. {error.fix} [{error.code}]"
    for warning in report.warnings:
        yield f"{report.file}: warning: {_where(warning.line, warning.path)}: {warning.problem}. {warning.fix} [{warning.code}]"
    if report.resources == "built-in":
        yield "labels are mapped to the resources built into Kubernetes; use --kubeconfig to include the custom resources of a cluster"
    for rule in report.rules:
        yield from _rule(rule)
    yield from _unreachable(report)
    for overlap in report.overlaps:
        yield f"{overlap.rule}: Overlap: {overlap.message}"
        yield "  fix: if two rules define the same metric for the same resource, the later one serves it; narrow one of them."
    yield _verdict(report)


def _where(line: int, path: str) -> str:
    return f"line {line}: {path}" if line else path


def _rule(rule: RuleReport) -> Iterator[str]:
    backend = "" if rule.backend == "default" else f" (backend {rule.backend})"
    series = f", {rule.series_seen} series" if rule.series_seen else ""
    yield f"{rule.rule}{backend}: {_outcome(rule)}{series}"
    for metric in rule.metrics[:METRICS_SHOWN_MAX]:
        source = f" from {metric.series}" if metric.series else ""
        resources = f" for {some(metric.resources, METRICS_SHOWN_MAX)}" if metric.resources else ""
        yield f"  metric {metric.name}{resources}{source}"
    if len(rule.metrics) > METRICS_SHOWN_MAX:
        yield f"  ... {len(rule.metrics) - METRICS_SHOWN_MAX} more metrics"
    for tried in rule.tried:
        yield from _tried(tried)
    for finding in rule.findings:
        if finding.reason != UNREACHABLE:
            yield f"  {finding.reason}: {finding.message}"
            yield f"    fix: {finding.fix}"


def _outcome(rule: RuleReport) -> str:
    if any(finding.reason == UNREACHABLE for finding in rule.findings):
        return "not checked"
    return "yields" if rule.yields else "yields nothing"


def _unreachable(report: Report) -> Iterator[str]:
    """Why rules were not checked: each cause once, although many rules report it."""
    causes = [each for rule in report.rules for each in rule.findings if each.reason == UNREACHABLE]
    for finding in dict.fromkeys(causes):
        yield f"{finding.reason}: {finding.message}"
        yield f"  fix: {finding.fix}"


def _tried(tried: Tried) -> Iterator[str]:
    value = f" = {tried.value}" if tried.value else ""
    yield f"  tried {tried.metric} of {tried.of}{value} ({tried.rows} {'row' if tried.rows == 1 else 'rows'})"
    yield f"    {tried.query}"


def _verdict(report: Report) -> str:
    if report.errors:
        count = len(report.errors)
        return f"{count} {'error' if count == 1 else 'errors'} in {report.file}"
    outcomes = [_outcome(rule) for rule in report.rules]
    nothing, unchecked = outcomes.count("yields nothing"), outcomes.count("not checked")
    warnings = len(report.warnings) + len(report.overlaps)
    warnings += sum(each.reason != UNREACHABLE for rule in report.rules for each in rule.findings)
    ending = f", {nothing} {'yields' if nothing == 1 else 'yield'} nothing" if nothing else ""
    ending += f", {unchecked} not checked" if unchecked else ""
    warned = f" ({warnings} {'warning' if warnings == 1 else 'warnings'})" if warnings else ""
    able = "can be used" if report.ok else "has warnings, and --strict is set"
    return f"{report.file} {able}: {report.rule_count} rules{ending}{warned}"
