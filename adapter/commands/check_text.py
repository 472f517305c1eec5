"""The report for people: faults first, then rule by rule."""

from collections.abc import Iterator

from adapter.diagnosis.check_report import Report, RuleReport, Tried
from wire.api.wording import some

METRICS_SHOWN_MAX = 10
UNREACHABLE = "PrometheusDown"
WHOLE_FILE = "(file)"


def text_of(report: Report) -> str:
    """Ends without a newline."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    for error in report.errors:
        yield f"{report.file}: {_where(error.line, error.path)}{error.problem}. {error.fix} [{error.code}]"
    for warning in report.warnings:
        yield f"{report.file}: warning: {_where(warning.line, warning.path)}{warning.problem}. {warning.fix} [{warning.code}]"
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
    """Empty for the whole file; else ends with a colon and a space."""
    place = f"line {line}: " if line else ""
    return place if path == WHOLE_FILE else f"{place}{path}: "


def _rule(rule: RuleReport) -> Iterator[str]:
    backend = "" if rule.backend == "default" else f" (backend {rule.backend})"
    yield f"{rule.rule}{backend}: {_outcome(rule)}"
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
    if _is_unchecked(rule):
        return "not checked"
    series = f"{rule.series_seen} series" if rule.series_seen else ""
    if rule.yields:
        return series or "has values"
    return f"yields nothing from {series}" if series else "yields nothing"


def _is_unchecked(rule: RuleReport) -> bool:
    return any(finding.reason == UNREACHABLE for finding in rule.findings)


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
    count = len(report.rules) or report.rule_count
    rules = f"{count} {'rule' if count == 1 else 'rules'}"
    unchecked = sum(map(_is_unchecked, report.rules))
    nothing = sum(not (rule.yields or _is_unchecked(rule)) for rule in report.rules)
    if nothing:
        which = "its only rule" if count == 1 else f"{nothing} of {rules}"
        rules = f"{which} {'yields' if nothing == 1 else 'yield'} nothing"
    ending = f", {unchecked} not checked" if unchecked else ""
    warnings = len(report.warnings) + len(report.overlaps)
    warnings += sum(each.reason != UNREACHABLE for rule in report.rules for each in rule.findings)
    warned = f" ({warnings} {'warning' if warnings == 1 else 'warnings'})" if warnings else ""
    able = "is accepted, but" if nothing else "is accepted:"
    if not report.ok:
        able = "has warnings, and --strict is set:"
    return f"{report.file} {able} {rules}{ending}{warned}"
