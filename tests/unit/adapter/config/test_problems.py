"""Invalid files: each problem says where and what it is and how to fix it, and all are reported at once."""

import pytest

from adapter.config import ConfigError, load, parse

RULE = "seriesQuery: up, metricsQuery: up"


def problems_of(text: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        parse(text)
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.deviation("series-query-required", "yaml-values", "templates-outside-the-subset")
@pytest.mark.parametrize(
    ("text", "where", "what", "fix"),
    [
        pytest.param("rules: [{seriesQuery: a", "(file)", "not YAML: line 2, column 1: did not find", "Fix the syntax", id="no YAML"),
        pytest.param("- a", "(file)", "the file contains a list", "Write `rules:`", id="a list on top"),
        pytest.param(f"rules: [{{{RULE}, metricQuery: x}}]", "rules[0].metricQuery", "unknown field", "Did you mean `metricsQuery`?", id="a misspelled field"),
        pytest.param(f"rules: [{{{RULE}, seriesQuery: b}}]", "rules[0].seriesQuery", "is given twice", "Keep one", id="a duplicate key"),
        pytest.param("rule: []", "rule", "unknown field `rule`", "Did you mean `rules`?", id="an unknown top key"),
        pytest.param(f"rules: {{{RULE}}}", "rules", "expected a list, found a mapping", "Begin each entry with `- `", id="a mapping for a list"),
        pytest.param("rules: [up]", "rules[0]", "expected a mapping, found the value 'up'", "key: value", id="a text for a rule"),
        pytest.param("rules: [{metricsQuery: up}]", "rules[0].seriesQuery", "`seriesQuery` is missing", "Add a series selector", id="no series query"),
        pytest.param(f"rules: [{{{RULE}, seriesFilters: [{{is: a, isNot: b}}]}}]", "rules[0].seriesFilters[0]", "both `is` and `isNot`", "exactly one", id="a filter with both"),
        pytest.param(f"rules: [{{{RULE}, seriesFilters: [{{}}]}}]", "rules[0].seriesFilters[0]", "neither", "exactly one", id="an empty filter"),
        pytest.param(f"rules: [{{{RULE}, name: {{matches: '(a)(b)'}}}}]", "rules[0].name.as", "2 groups", "Add `as`", id="two groups without as"),
        pytest.param(f"rules: [{{{RULE}, name: {{matches: '(?=a)'}}}}]", "rules[0].name.matches", "not a valid RE2 expression", "no lookaheads", id="a lookahead"),
        pytest.param("rules: [{seriesQuery: up, metricsQuery: 'sum(<<.Series'}]", "rules[0].metricsQuery", "1:5: unclosed action", "delimiters are << and >>", id="an open template"),
        pytest.param(f"rules: [{{{RULE}, resources: {{template: 'kube_<<.Group>>'}}}}]", "rules[0].resources.template", "must contain <<.Resource>>", "kube_<<.Group>>_<<.Resource>>", id="a template without resource"),
        pytest.param(f"rules: [{{{RULE}, resources: {{overrides: {{pod: {{}}}}}}}}]", "rules[0].resources.overrides.pod.resource", "missing", "Add `resource: pod`", id="an empty override"),
        pytest.param(f"rules: [{{{RULE}, resources: {{template: '<<.String>>'}}}}]", "rules[0].resources.template", "field String", "kube_<<.Group>>_<<.Resource>>", id="a method in a template"),
        pytest.param("rules: [{seriesQuery: !!binary dXA=, metricsQuery: up}]", "rules[0].seriesQuery", "!!binary", "the text itself", id="a text in base64"),
        pytest.param(f"externalRules: [{{{RULE}, resources: {{namespaced: maybe}}}}]", "externalRules[0].resources.namespaced", "neither true nor false", "true or false", id="no boolean"),
        pytest.param("resourceRules: {window: 5}", "resourceRules.window", "'5' is not a duration", "5m", id="a window without unit"),
        pytest.param("metrics: [{query: up}]", "metrics[0].name", "missing", "Add the name", id="a metric without name"),
        pytest.param("metrics: [{name: a/b, query: up}]", "metrics[0].name", "cannot be part of a URL path", "letters, digits", id="a slash in a name"),
        pytest.param("metrics: [{name: a, query: 'sum(('}]", "metrics[0].query", "this is not valid PromQL", "Try it in Prometheus", id="no PromQL"),
        pytest.param("metrics: [{name: a, describes: pods, query: 'sum by (pod) (x)'}]", "metrics[0].query", "drops the label namespace", "by (pod, namespace)", id="a dropped label"),
        pytest.param("metrics: [{name: a, describes: pods, query: sum(x)}]", "metrics[0].query", "drops the label pod and namespace", "labels", id="all labels dropped"),
        pytest.param("metrics: [{name: a, query: a}, {name: a, query: b}]", "metrics[1].name", "metrics[0] has the same name", "Rename", id="the same name twice"),
        pytest.param("metrics: [{name: a, query: a, backend: b}]", "metrics[0].backend", "no backend 'b'", "default", id="an unknown backend"),
        pytest.param("metrics: [{name: a, query: a, signal: {onNaN: maybe}}]", "metrics[0].signal.onNaN", "not one of fail, zero, last, omit", "Write one of", id="an unknown reaction"),
        pytest.param("metrics: [{name: a, query: a, signal: {onNaN: last}}]", "metrics[0].signal.lastFor", "without a limit on the age", "lastFor: 5m", id="last without an age"),
        pytest.param("metrics: [{name: a, query: a, signal: {onStale: zero}}]", "metrics[0].signal.onStale", "no age at which", "staleAfter: 2m", id="stale without a bound"),
        pytest.param("metrics: [{name: a, query: a, signal: {onPartial: zero}}]", "metrics[0].signal.onPartial", "not one of fail, last, accept", "Write one of", id="zero for a part"),
        pytest.param("backends: [{name: a, url: prometheus}]", "backends[0].url", "not a URL", "http://HOST:9090", id="a URL without scheme"),
        pytest.param("backends: [{name: a, url: 'http://p/%zz'}]", "backends[0].url", "not followed by two hexadecimal digits", "%25", id="a URL with a bare percent sign"),
        pytest.param("backends: [{name: a, url: 'http://p:x'}]", "backends[0].url", "port", "http://HOST:9090", id="a URL with a port that is not a number"),
        pytest.param("backends: [{name: a, url: 'http://p', headers: {'X Y': b}}]", "backends[0].headers", "name of a header", "letters, digits", id="a header with a space in its name"),
        pytest.param("backends: [{name: a, url: 'http://p', clientCertFile: /c}]", "backends[0]", "needs its key", "clientKeyFile", id="a certificate without key"),
        pytest.param("backends: [{name: a, url: 'http://p', timeout: 5}]", "backends[0].timeout", "'5' is not a duration", "30s", id="a timeout without unit"),
        pytest.param("backends: [{name: a, url: 'http://p', maxConcurrency: 0}]", "backends[0].maxConcurrency", "0 is not above 0", "above 0", id="no concurrency"),
    ],
)  # fmt: skip
def test_a_problem_says_where_and_what_it_is_and_how_to_fix_it(text, where, what, fix):
    found = problems_of(text)
    assert [
        problem for problem in found if where in problem and what in problem and fix in problem
    ], found


def test_all_problems_are_reported_at_once_in_the_order_of_the_file():
    text = """
rules:
- seriesQuery: up
  metricsQuery: <<if
  name: {matches: '['}
- metricsQuery: up
  nmae: {}
metrics:
- name: a
"""
    with pytest.raises(ConfigError) as refused:
        parse(text, file="c.yaml")
    assert [(problem.line, problem.path) for problem in refused.value.problems] == [
        (4, "rules[0].metricsQuery"),
        (5, "rules[0].name.matches"),
        (6, "rules[1].seriesQuery"),
        (7, "rules[1].nmae"),
        (9, "metrics[0].query"),
    ]
    assert str(refused.value).splitlines()[0].startswith("c.yaml: line 4: rules[0].metricsQuery: ")


def warnings_of(text: str) -> list[str]:
    return [str(warning) for warning in parse(text).warnings]


@pytest.mark.deviation("several-documents", "unknown-template-fields")
@pytest.mark.parametrize(
    ("text", "warning"),
    [
        pytest.param("rules: [{seriesQuery: up, metricsQuery: '<<.Foo>>', resources: {template: <<.Resource>>}}]", "uses .Foo, which does not exist", id="an unknown template field"),
        pytest.param("rules: [{seriesQuery: up, resources: {template: <<.Resource>>}}]", "there is no query", id="no query"),
        pytest.param(f"rules: [{{{RULE}}}]", "no label is mapped to a resource", id="no resources"),
        pytest.param(f"rules: [{{{RULE}, resources: {{template: <<.Resource>>, namespaced: false}}}}]", "`namespaced` has no effect here", id="namespaced of a custom rule"),
        pytest.param("rules: [{seriesQuery: 'up{', metricsQuery: up, resources: {template: <<.Resource>>}}]", "cannot be parsed as a selector", id="a doubtful selector"),
        pytest.param("rules: [{seriesQuery: 'rate(a[5m])', metricsQuery: up, resources: {template: <<.Resource>>}}]", "series are listed by a selector", id="an expression for a selector"),
        pytest.param("rules: [{seriesQuery: 'a offset 5m', metricsQuery: up, resources: {template: <<.Resource>>}}]", "cannot have an offset", id="a selector with an offset"),
        pytest.param("externalRules: [{seriesQuery: up, metricsQuery: 'sum(<<.Series>>'}]", "cannot be parsed as PromQL", id="a doubtful query"),
        pytest.param("metrics: [{name: a, query: a, signal: {lastFor: 5m}}]", "nothing uses the last good value", id="an age for nothing"),
        pytest.param("metrics: [{name: a, query: brand_new_function(a)}]", "a function is not known to Loadline", id="a newer function"),
        pytest.param("backends: [{name: a, url: 'http://a', headers: {Host: b}}]", "`Host` has no effect", id="a header that is not sent"),
        pytest.param("metrics: [{name: a, query: a}]\n---\nx: 1", "several documents", id="two documents"),
    ],
)  # fmt: skip
def test_what_works_but_is_probably_not_intended_is_a_warning(text, warning):
    assert [each for each in warnings_of(text) if warning in each], warnings_of(text)


@pytest.mark.deviation("unknown-template-fields")
def test_what_prometheus_adapter_accepts_is_not_an_error():
    """A file that serves something there must not prevent Loadline's adapter from starting."""
    text = "rules: [{seriesQuery: up}, {seriesQuery: 'up{', metricsQuery: '<<.Foo>>'}]\nresourceRules: {cpu: {}, memory: {}}"
    assert len(parse(text).rules) == 2


def test_a_file_that_is_not_there_is_a_problem_of_the_file(tmp_path):
    with pytest.raises(
        ConfigError, match=r"cannot be read: No such file or directory\. Check --config"
    ):
        load(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 800,
        "a: &x [*x]\nrules: *x",
        "&x {rules: [{<<: [{<<: *x}]}]}",
        "? [a]\n: b",
        "\t",
        "\x00",
        "%YAML 9",
    ],
)
def test_hostile_files_are_refused_and_break_nothing(text):
    with pytest.raises(ConfigError):
        parse(text)


@pytest.mark.deviation("text-after-the-document")
def test_text_after_the_first_document_that_is_not_yaml_is_not_ignored():
    problems = problems_of("  rules:\n  - seriesQuery: up\n lost: rule\n")
    assert "not YAML: line 3" in problems[0]
