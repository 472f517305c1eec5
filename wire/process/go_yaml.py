"""YAML as Go's programs read it, which use gopkg.in/yaml.v2, or its copy in sigs.k8s.io/yaml.

| | PyYAML | yaml.v2 | here |
|---|---|---|---|
| tabs between tokens | an error | separate them | as yaml.v2 |
| an anchor that is defined again | an error | replaces the first one from there on | as yaml.v2 |
| `<<` after a field of the mapping | is replaced by the field | replaces the field | as yaml.v2 |
| `<<` into a struct with nested structs | replaces them | is decoded into them | as yaml.v2 (`into_structs`) |
| a date such as 2026-11-27 | is a date | is text | as yaml.v2 |

libyaml, from which yaml.v2 was translated, reads the tokens; the wheels of PyYAML contain it.
"""

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import yaml
from yaml._yaml import CParser
from yaml.composer import Composer, ComposerError
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

_MERGE: Final = "tag:yaml.org,2002:merge"

Field = tuple[yaml.Node, yaml.Node]


def decoded_text(content: bytes) -> str:
    """The text of a file in UTF-8, or by a byte order mark in UTF-16. Raises `UnicodeDecodeError`.

    Upstream: yaml.v2's yaml_parser_determine_encoding.
    """
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf_16 else "utf-8-sig")


def documents(text: str) -> Iterator[yaml.Node]:
    """The trees of the documents, one after the other; merges are still in them. Raises `yaml.YAMLError`."""
    loader = _Loader(text)
    try:
        while (node := _next_node(loader)) is not None:
            yield node
    finally:
        loader.dispose()


def load_all(text: str) -> Iterator[Any]:
    """The documents as kubectl and Helm read them. Raises `yaml.YAMLError`."""
    for node in documents(text):
        yield value_of(without_merges(node))


def load(text: str) -> Any:
    """The first document, or None. Raises `yaml.YAMLError`."""
    return next(load_all(text), None)


def value_of(node: yaml.Node) -> Any:
    """What a tree without merges says, in dicts, lists and scalars. Raises `yaml.YAMLError`."""
    with _depth_limited():
        return _Values().construct_document(node)


def without_merges(node: yaml.Node, *, into_structs: frozenset[str] | None = None) -> yaml.Node:
    """The tree with the fields of each `<<` in place of it, at its position: yaml.v2's decoder.merge.

    None: for a program that reads maps, in which a later value replaces an earlier one. Otherwise for one that reads structs,
    in which a mapping is decoded into the earlier one, and whose fields `into_structs` are maps: a key of one that is
    given again is kept twice, since it is an error. Raises `yaml.YAMLError` for a merge of something else than mappings.
    """
    with _depth_limited():
        return _Merging(into_structs).resolved(node)


@contextmanager
def _depth_limited() -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise ComposerError(None, None, "the document is nested too deeply", None) from error


def _next_node(loader: "_Loader") -> yaml.Node | None:
    with _depth_limited():
        while loader.check_node():
            node: yaml.Node | None = loader.get_node()
            if node is not None:
                return node
    return None


class _Values(SafeConstructor):
    """Makes values of trees."""

    yaml_constructors: ClassVar = {
        **SafeConstructor.yaml_constructors,
        "tag:yaml.org,2002:timestamp": SafeConstructor.construct_yaml_str,
    }


class _Loader(Composer, SafeConstructor, Resolver, CParser):
    """libyaml's parser with PyYAML's trees."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.NodeEvent) and not isinstance(event, yaml.AliasEvent):
            # PyYAML refuses a known anchor.
            self.anchors.pop(event.anchor, None)
        return super().compose_node(parent, index)


class _Merging:
    def __init__(self, maps_in_structs: frozenset[str] | None) -> None:
        self._maps_in_structs = maps_in_structs
        self._known: dict[tuple[int, bool], yaml.Node | None] = {}
        """None: it is being resolved."""

    def resolved(self, node: yaml.Node, *, is_map: bool = False) -> yaml.Node:
        """Of each node once, so that aliases stay aliases."""
        key = id(node), is_map
        if key not in self._known:
            self._known[key] = None
            self._known[key] = self._resolved(node, is_map)
        known = self._known[key]
        if known is None:
            raise ComposerError(
                None, None, "the value of an anchor contains itself", node.start_mark
            )
        return known

    def _resolved(self, node: yaml.Node, is_map: bool) -> yaml.Node:
        match node:
            case yaml.SequenceNode():
                items = [self.resolved(item) for item in node.value]
                return yaml.SequenceNode(
                    node.tag, items, node.start_mark, node.end_mark, node.flow_style
                )
            case yaml.MappingNode():
                return self._decoded(node, [], is_map)
        return node

    def _decoded(self, node: yaml.MappingNode, into: list[Field], is_map: bool) -> yaml.MappingNode:
        """`node` decoded into the fields of a mapping without merges."""
        fields = [*into]
        self._decode(node, fields, is_map)
        return yaml.MappingNode(node.tag, fields, node.start_mark, node.end_mark, node.flow_style)

    def _decode(self, node: yaml.MappingNode, fields: list[Field], is_map: bool) -> None:
        own: set[str] = set()
        for key, value in node.value:
            if key.tag == _MERGE:
                for each in _merged(value):
                    self._decode(each, fields, is_map)
            elif _name(key) in own:
                fields.append((key, self.resolved(value)))
            else:
                own.add(_name(key))
                self._set(key, value, fields, is_map)

    def _set(self, key: yaml.Node, value: yaml.Node, fields: list[Field], is_map: bool) -> None:
        name = _name(key)
        before = next((i for i, field in enumerate(fields) if _name(field[0]) == name), None)
        has_structs = self._maps_in_structs is not None
        becomes_map = has_structs and not is_map and name in (self._maps_in_structs or ())
        if before is None or (has_structs and is_map):
            fields.append((key, self.resolved(value, is_map=becomes_map)))
            return
        former = fields[before][1]
        if (
            has_structs
            and isinstance(former, yaml.MappingNode)
            and isinstance(value, yaml.MappingNode)
        ):
            fields[before] = key, self._decoded(value, former.value, becomes_map)
        else:
            fields[before] = key, self.resolved(value, is_map=becomes_map)


def _merged(value: yaml.Node) -> list[yaml.MappingNode]:
    """The mappings of a merge in the order in which they are decoded: the last one of a list first."""
    found = value.value[::-1] if isinstance(value, yaml.SequenceNode) else [value]
    mappings = []
    for each in found:
        if not isinstance(each, yaml.MappingNode):
            problem = "map merge requires map or sequence of maps as the value"
            raise ComposerError(None, None, problem, each.start_mark)
        mappings.append(each)
    return mappings


def _name(key: yaml.Node) -> str:
    return str(key.value) if isinstance(key, yaml.ScalarNode) else ""
