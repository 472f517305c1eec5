"""Configurations that both refuse to start with, by what is wrong with them."""

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

REFUSED = {
    "no YAML": "rules: [",
    "a text": "rules",
    "a rule that is a text": "rules: [up]",
    "an unknown key at the top": "rule: []",
    "an unknown key in a rule": _with("query: up"),
    "a key twice": _with("metricsQuery: up"),
    "the top key twice": "rules: []\nrules: []",
    "a filter that says is and isNot": _with('seriesFilters: [{is: "a", isNot: "b"}]'),
    "a filter that says nothing": _with("seriesFilters: [{}]"),
    "a filter that is no regular expression": _with('seriesFilters: [{is: "("}]'),
    "a lookahead": _with('name: {matches: "^(?!container_).*$"}'),
    "a back reference": _with(r'name: {matches: "(a)\\1"}'),
    "two groups and no name": _with('name: {matches: "(a)(b)"}'),
    "a template of a query that does not end": _with('name: {as: "x"}').replace(
        "<<.GroupBy>>", "<<.GroupBy"
    ),
    "a template of a query with an unknown function": _with('name: {as: "x"}').replace(
        "<<.GroupBy>>", "<<upper .GroupBy>>"
    ),
    "a template of labels without the resource": _with("").replace("<<.Resource>>", "kube"),
    "a template of labels that does not end": _with("").replace("<<.Resource>>", "<<.Resource"),
    "a template of labels with an unknown field": _with("").replace(
        "<<.Resource>>", "<<.Resource>><<.Kind>>"
    ),
    "a namespaced that is no boolean": _with("").replace(
        "{template:", '{namespaced: "maybe", template:'
    ),
    "a window without a unit": USAGE.format(resources=OVERRIDES, window="5"),
    "a window that is a word": USAGE.format(resources=OVERRIDES, window="long"),
    "usage with an unknown key": USAGE.format(resources=OVERRIDES, window="5m") + "  disk: {}\n",
}
