"""Configurations inside other documents: ConfigMaps, Helm values, HelmReleases of Flux and Applications of Argo CD.

Line numbers are those of the file that contains the document.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import yaml

from adapter.config import Configuration, parse, parse_node
from adapter.config.problems import ConfigError
from wire.process.go_yaml import documents, without_merges

_DISCOVERY: Final = {"seriesQuery", "metricsQuery"}
# The parts of a configuration, and fields of which the entries of each have one.
_PART_FIELDS: Final = {
    "rules": _DISCOVERY,
    "externalRules": _DISCOVERY,
    "resourceRules": {"cpu", "memory"},
    "metrics": {"query"},
    "backends": {"url"},
}

# The fields of `rules` in the values of both charts, and those of the configuration that they become.
VALUES_FIELDS: Final = {
    "custom": "rules",
    "external": "externalRules",
    "resource": "resourceRules",
    "metrics": "metrics",
}
# Names under which the charts are subcharts of another chart.
SUBCHARTS: Final = ("loadline-adapter", "prometheus-adapter")

_TEXT: Final = "tag:yaml.org,2002:str"
_MAP: Final = "tag:yaml.org,2002:map"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration: where it is, and its content or what is wrong with it."""

    name: str
    configuration: Configuration | None = None
    error: ConfigError | None = None


def sources(text: str, *, file: str) -> tuple[Source, ...]:
    """Every configuration in a file. A file that is none of the known documents is read as a configuration itself."""
    try:
        # Helm and kubectl read maps.
        nodes = [without_merges(node) for node in documents(text)]
    except yaml.YAMLError:
        return (_whole(text, file),)
    if all(_is_plain(node) for node in nodes):
        return (_whole(text, file),)
    return tuple(source for node in nodes for source in _found(node, file))


def _whole(text: str, file: str) -> Source:
    try:
        return Source(name=file, configuration=parse(text, file=file))
    except ConfigError as error:
        return Source(name=file, error=error)


def _is_plain(node: yaml.Node) -> bool:
    """Neither a Kubernetes object nor Helm values."""
    return not (
        _text(_at(node, "kind"))
        or isinstance(_at(node, "rules"), yaml.MappingNode)
        or any(_at(node, name) is not None for name in SUBCHARTS)
    )


def _found(node: yaml.Node, file: str) -> Iterator[Source]:
    kind = _text(_at(node, "kind"))
    names = [_text(_at(node, "metadata", field)) for field in ("namespace", "name")]
    name = f"{file}: {kind} {'/'.join(filter(None, names))}"
    match kind:
        case "ConfigMap":
            yield from _in_configmap(node, name)
        case "HelmRelease":
            yield from _in_values(_at(node, "spec", "values"), name)
        case "Application":
            charts = [_at(node, "spec", "source"), *_items(_at(node, "spec", "sources"))]
            for source in charts:
                yield from _in_helm(_at(source, "helm"), name)
        case "List":
            for item in _items(_at(node, "items")):
                yield from _found(item, file)
        case "":
            yield from _in_values(node, f"{file}: values")


def _in_helm(helm: yaml.Node | None, name: str) -> Iterator[Source]:
    """The values of an Application: an object, or else a text (Argo CD's `ApplicationSourceHelm.ValuesYAML`)."""
    if (values := _at(helm, "valuesObject")) is not None:
        yield from _in_values(values, name)
    elif isinstance(text := _at(helm, "values"), yaml.ScalarNode):
        try:
            inner = next(documents(_at_its_line(text)), None)
        except yaml.YAMLError:
            yield _whole(_at_its_line(text), f"{name}, values")
        else:
            yield from _in_values(inner, name)


def _in_configmap(node: yaml.Node, name: str) -> Iterator[Source]:
    for key, value in _fields(_at(node, "data")):
        if not isinstance(value, yaml.ScalarNode) or not _is_configuration(key, value.value):
            continue
        yield _whole(_at_its_line(value), f"{name}, {key}")


def _at_its_line(value: yaml.ScalarNode) -> str:
    """The text, below as many lines as in the file: that of a block scalar begins one line below its indicator."""
    above: int = value.start_mark.line + (value.style in ("|", ">"))
    return "\n" * above + str(value.value)


def _is_configuration(key: str, text: str) -> bool:
    """By its name, or by the fields of its rules: other programs have `rules` and `metrics`, too."""
    if key == "config.yaml":
        return True
    try:
        node = next(documents(text), None)
    except yaml.YAMLError:
        return False
    return any(
        field in _PART_FIELDS and not _names(value).isdisjoint(_PART_FIELDS[field])
        for field, value in _fields(node)
    )


def _names(part: yaml.Node) -> set[str]:
    """The fields of a block, or of all blocks of a list."""
    return {name for each in (part, *_items(part)) for name, _ in _fields(each)}


def _in_values(values: yaml.Node | None, name: str) -> Iterator[Source]:
    """The values of the charts, or of a chart that contains one of them."""
    inner = [(_at(values, subchart), f"{name}, {subchart}") for subchart in SUBCHARTS]
    for node, where in [(values, name), *inner]:
        rules = _at(node, "rules")
        if isinstance(rules, yaml.MappingNode):
            yield _of_rules(rules, where)


def _of_rules(rules: yaml.MappingNode, name: str) -> Source:
    own = [
        (yaml.ScalarNode(_TEXT, field, each.start_mark, each.end_mark), each)
        for value, field in VALUES_FIELDS.items()
        if (each := _at(rules, value)) is not None
    ]
    top = yaml.MappingNode(_MAP, own, rules.start_mark, rules.end_mark)
    # The chart adds the default rules, or uses another ConfigMap.
    default = _text(_at(rules, "default")).lower()
    may_be_empty = default != "false" or bool(_text(_at(rules, "existing")))
    try:
        return Source(
            name=name, configuration=parse_node(top, file=name, may_be_empty=may_be_empty)
        )
    except ConfigError as error:
        return Source(name=name, error=error)


def _fields(node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), value


def _items(node: yaml.Node | None) -> Sequence[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _at(node: yaml.Node | None, *path: str) -> yaml.Node | None:
    for name in path:
        node = dict(_fields(node)).get(name)
    return node


def _text(node: yaml.Node | None) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""
