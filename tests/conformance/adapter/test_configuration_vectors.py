"""How a file is read, with its anchors and merges, against prometheus-adapter's pkg/config and sigs.k8s.io/yaml."""

from typing import Any

import msgspec
import pytest
import yaml

from adapter.config.discovery_rules import read_resource_rules, read_rule
from adapter.config.document import Problems, read_document
from adapter.config.problems import ProblemCode
from adapter.model import DiscoveryRule, ResourceLabels, ResourceRule
from wire.process import go_yaml

# What prometheus-adapter finds later: in the rules, not in the file.
FOUND_LATER = {
    ProblemCode.MISSING_FIELD,
    ProblemCode.INVALID_VALUE,
    ProblemCode.INVALID_TEMPLATE,
}

Json = dict[str, Any]


class ConfigurationRow(msgspec.Struct):
    text: str
    configuration: Json | None
    document: Any


def configuration_of(text: str) -> Json | None:
    """The rules as our configuration reads them; None when it refuses the file."""
    problems = Problems()
    top = read_document(text, problems)
    if top is None:
        return None
    read = {
        "rules": [
            rule(read_rule(each, external=False, backends=())) for each in top.blocks("rules")
        ],
        "externalRules": [
            rule(read_rule(each, external=True, backends=()))
            for each in top.blocks("externalRules")
        ],
    }
    usage = read_resource_rules(top, ())
    read["resourceRules"] = usage and {"cpu": of_usage(usage.cpu), "memory": of_usage(usage.memory)}
    top.close()
    return None if {each.code for each in problems.errors} - FOUND_LATER else read


def rule(read: DiscoveryRule) -> Json:
    filters = [each.pattern for each in read.series_filters]
    matches = read.name_matches.replace(".*", "")
    return {
        "query": [read.series_query, read.metrics_query],
        "filters": filters[:-1] if matches else filters,
        "name": [matches, read.name_as.replace("$0", "")],
        "resources": labels(read.resources),
    }


def labels(read: ResourceLabels) -> Json:
    overrides = {label: [each.resource, each.group] for label, each in read.overrides}
    return {
        "template": read.template,
        "overrides": overrides,
        "namespaced": read.namespaced,
    }


def of_usage(read: ResourceRule) -> Json:
    return {"queries": [read.container_query, read.node_query], "resources": labels(read.resources)}


def upstream(configuration: Json) -> Json:
    """The same form of what prometheus-adapter reads."""

    def resources(block: Json) -> Json:
        overrides = (block.get("overrides") or {}).items()
        return {
            "template": block.get("template", ""),
            "overrides": {
                label: [each["resource"], each.get("group", "")] for label, each in overrides
            },
            "namespaced": block.get("namespaced", True),
        }

    def rule(block: Json) -> Json:
        name = block["name"]
        return {
            "query": [block["seriesQuery"], block.get("metricsQuery", "")],
            "filters": [each["is"] for each in block["seriesFilters"] or []],
            "name": [name["matches"], name["as"]],
            "resources": resources(block["resources"]),
        }

    def of_usage(block: Json) -> Json:
        queries = [block["containerQuery"], block["nodeQuery"]]
        return {"queries": queries, "resources": resources(block["resources"])}

    usage = configuration.get("resourceRules")
    return {
        "rules": [rule(each) for each in configuration["rules"] or []],
        "externalRules": [rule(each) for each in configuration.get("externalRules") or []],
        "resourceRules": usage and {name: of_usage(usage[name]) for name in ("cpu", "memory")},
    }


@pytest.mark.deviation("newer-yaml")
def test_a_configuration_is_read_as_by_prometheus_adapter(rows):
    vectors = rows("configurations.jsonl", ConfigurationRow)
    differing = []
    accepted = []
    for row in vectors:
        ours = configuration_of(row.text)
        theirs = row.configuration and upstream(row.configuration)
        if ours is not None and theirs is None:
            accepted.append(row.text)
        elif ours != theirs:
            differing.append((row.text, ours, theirs))
    assert not differing, f"{len(differing)} of {len(vectors)}: {differing[:3]}"
    # Otherwise newer YAML: `\\/` in quotes and `?` in flow mappings.
    deletes = ("resources: null", "overrides: null")
    given_twice = [text for text in accepted if any(each in text for each in deletes)]
    assert (len(accepted), len(given_twice)) == (7, 4), "a null deletes the key that is given twice"


def test_a_document_is_read_as_by_helm_and_kubectl(rows):
    vectors = rows("configurations.jsonl", ConfigurationRow)
    differing = [
        (row.text, ours, row.document)
        for row in vectors
        if (ours := document_of(row.text)) != row.document and row.document is not None
    ]
    assert not differing, f"{len(differing)} of {len(vectors)}: {differing[:3]}"


def document_of(text: str) -> object:
    try:
        return go_yaml.load(text)
    except yaml.YAMLError:
        return None
