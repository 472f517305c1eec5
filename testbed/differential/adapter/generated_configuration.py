"""Random configurations: every way to select, filter, name and map series, in unusual combinations."""

import random
from collections.abc import Mapping
from typing import Any

RULES, EXTERNAL_RULES = 10, 8

SERIES_QUERIES = (
    '{__name__=~"^edge_.*",namespace!=""}',
    'http_requests_total{namespace!="",pod!=""}',
    '{namespace!="",__name__!~"^container_.*"}',
    '{__name__=~"^(queue|odd)_.*"}',
    '{__name__=~"^container_.*",container!="POD",namespace!="",pod!=""}',
    '{__name__=~"^edge_(template|conditional)$"}',
    '{job="testbed"}',
    '{__name__=~".+",node!=""}',
    '{__name__=~".*_labels"}',
    "edge_overridden",
)

SERIES_FILTERS = (
    (), (), (), ({"is": "_total$"},), ({"isNot": "_total$"},), ({"is": "^.{5,12}$"},), ({"is": "(?i)EDGE"},),
    ({"isNot": "[st]_[a-m]"},), ({"is": "e"}, {"isNot": "^e"}), ({"isNot": "^$"}, {"is": "."}),
)  # fmt: skip

NAMES: tuple[Mapping[str, str], ...] = (
    {}, {}, {"matches": "", "as": ""}, {"matches": "^(.*)_total$", "as": ""}, {"matches": "^(.*)_total$"},
    {"matches": "^(.*)_total$", "as": "${1}_rate"}, {"matches": "(.)_(.)", "as": "$2$1"}, {"matches": "_", "as": "x"},
    {"matches": "^(?P<a>[a-z]+)_(?P<b>.*)$", "as": "${b}_of_${a}"}, {"matches": "^(.+?)_(.+)$", "as": "$1"},
    {"as": "fixed"}, {"as": "all_$0"}, {"matches": "e"}, {"matches": "(e)", "as": "$$1_${1}_$1_"},
    {"matches": "(queue)|(edge)", "as": "q${1}e${2}"}, {"matches": "^(\\w+)$", "as": "$1-$3$"},
    {"matches": "[[:upper:]]+", "as": "upper"}, {"matches": "(?U)e(.*)_", "as": "un$1"},
)  # fmt: skip

RESOURCES: tuple[Mapping[str, Any], ...] = (
    {"template": "<<.Resource>>"},
    {"template": "<<.Resource>>"},
    {"template": "kube_<<.Group>>_<<.Resource>>"},
    {"template": "kube_<<if .Group>><<.Group>>_<<end>><<.Resource>>"},
    {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pods"}}},
    {"overrides": {"namespace": {"resource": "namespace"}, "node": {"resource": "node"}}},
    {"template": "<<.Resource>>", "overrides": {"queue": {"resource": "service"}}},
    {
        "template": "<<.Resource>>",
        "overrides": {"ns": {"resource": "namespaces"}, "deploy": {"group": "apps", "resource": "deployment"}},
    },
    {
        "template": "<<.Resource>>",
        "overrides": {"kube_namespace": {"resource": "namespace"}, "kube_node": {"resource": "node"}},
    },
    {},
)  # fmt: skip

METRICS_QUERIES = (
    "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
    "sum by (<<.GroupBy>>) (rate(<<.Series>>{<<.LabelMatchers>>}[1m]))",
    "max(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
    "<<.Series>>{<<.LabelMatchers>>}",
    'avg(<<.Series>>{<<.LabelMatchers>>,job="testbed"}) by (<<.GroupBy>>)',
    "count(<<.Series>>{<<.LabelMatchers>>}) by (<<range $i, $l := .GroupBySlice>><<if $i>>,<<end>><<$l>><<end>>)",
    '<<printf "min(%s{%s}) by (%s)" .Series .LabelMatchers .GroupBy>>',
    "sum({__name__=\"<<.Series>>\",<<.LabelMatchers>>}) by (<<.GroupBy>>) / 3",
)  # fmt: skip
# Without it, some configurations have no metric, and it is not known when prometheus-adapter has listed all of them.
PLAIN_RULE: Mapping[str, Any] = {
    "seriesQuery": 'http_requests_total{namespace!="",pod!=""}',
    "name": {"as": "plain"},
    "resources": {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pods"}}},
    "metricsQuery": "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
}  # fmt: skip


def configuration(seed: str) -> dict[str, Any]:
    """The content of the file; the same seed gives the same content."""
    chance = random.Random(seed)  # noqa: S311  reproducible, not a secret

    def rule(*, external: bool) -> dict[str, Any]:
        resources = dict(chance.choice(RESOURCES))
        if external:
            resources |= chance.choice(({}, {"namespaced": False}, {"namespaced": True}))
        parts = {
            "seriesQuery": chance.choice(SERIES_QUERIES),
            "seriesFilters": list(chance.choice(SERIES_FILTERS)),
            "name": dict(chance.choice(NAMES)),
            "resources": resources,
            "metricsQuery": chance.choice(METRICS_QUERIES),
        }
        return {key: value for key, value in parts.items() if value}

    return {
        "rules": [*(rule(external=False) for _ in range(RULES)), PLAIN_RULE],
        "externalRules": [*(rule(external=True) for _ in range(EXTERNAL_RULES)), PLAIN_RULE],
    }
