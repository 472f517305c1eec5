"""Configurations with which both adapters must refuse to start, by what is wrong with them."""

RULE = """\
rules:
- seriesQuery: 'up{{namespace!=""}}'
  resources: {{template: "<<.Resource>>"}}
  metricsQuery: sum(<<.Series>>{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)
  {addition}
"""


def _with(addition: str) -> str:
    return RULE.format(addition=addition)


USAGE = """\
resourceRules:
  cpu: &usage
    containerQuery: sum(up{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)
    nodeQuery: sum(up{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)
    resources: {{{resources}}}
    containerLabel: container
  memory: *usage
  window: {window}
"""
OVERRIDES = (
    "overrides: {namespace: {resource: namespace}, pod: {resource: pod}, node: {resource: node}}"
)

INVALID = {
    "not YAML": "rules: [",
    "a string": "rules",
    "a rule that is a string": "rules: [up]",
    "an unknown top-level key": "rule: []",
    "an unknown key in a rule": _with("query: up"),
    "a duplicate key": _with("metricsQuery: up"),
    "a duplicate top-level key": "rules: []\nrules: []",
    "a filter with both is and isNot": _with('seriesFilters: [{is: "a", isNot: "b"}]'),
    "an empty filter": _with("seriesFilters: [{}]"),
    "a filter with an invalid regular expression": _with('seriesFilters: [{is: "("}]'),
    "a lookahead": _with('name: {matches: "^(?!container_).*$"}'),
    "a back reference": _with(r'name: {matches: "(a)\\1"}'),
    "two capture groups without `as`": _with('name: {matches: "(a)(b)"}'),
    "an unterminated query template": _with('name: {as: "x"}').replace(
        "<<.GroupBy>>", "<<.GroupBy"
    ),
    "a query template with an unknown function": _with('name: {as: "x"}').replace(
        "<<.GroupBy>>", "<<upper .GroupBy>>"
    ),
    "a label template without the resource": _with("").replace("<<.Resource>>", "kube"),
    "an unterminated label template": _with("").replace("<<.Resource>>", "<<.Resource"),
    "a label template with an unknown field": _with("").replace(
        "<<.Resource>>", "<<.Resource>><<.Kind>>"
    ),
    "a namespaced that is not a boolean": _with("").replace(
        "{template:", '{namespaced: "maybe", template:'
    ),
    "a window without a unit": USAGE.format(resources=OVERRIDES, window="5"),
    "a window that is a word": USAGE.format(resources=OVERRIDES, window="long"),
    "usage with an unknown key": USAGE.format(resources=OVERRIDES, window="5m") + "  disk: {}\n",
}
