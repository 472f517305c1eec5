"""The wide query of a template: one text that answers the requests of many namespaces, objects and selectors.

A template that only inserts its fields has the same syntax tree for all values of a label, so `adapter.wide.proof` proves it once, with
values that stand for all others. A template that computes something from its fields has no wide query.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from adapter.caches import WIDE_QUERIES_BYTES, SizedCache, selector_bytes
from adapter.model import BackendRef, Rows, Wide, WideQuery
from adapter.promql.ages import age_query, grouping_of
from adapter.promql.metric_query import (
    Matcher,
    QueryNotBuilt,
    equals,
    rendered_query,
    selector_matchers,
)
from adapter.promql.named_query import restricted
from adapter.templates import compiled
from adapter.templates.lexer import LEFT
from adapter.templates.nodes import Action, Command, Field, Pipe, Text
from adapter.wide.proof import Moved, extra_labels
from adapter.wide.regrouping import keeping
from wire.api.labels import Operator, Requirement, Selector
from wire.api.quoting import go_quote
from wire.process.text_bytes import text_bytes

# No value of a label selector contains such brackets.
_ANY_VALUE: Final = "<any value>"
"""Stands for a value that a narrow query matches."""
_ANY_NAMES: Final = "<any name>|<another name>"
_NAMESPACES: Final = "<namespaces>"
"""Stands for the namespaces of a wide query."""

REQUIREMENTS_MAX: Final = 32
SELECTOR_LENGTH_MAX: Final = 1_024
"""Of a selector that a request for many may have. A proof takes time for each requirement and each character; with more, it would
take longer than the query of the request."""
PROOFS_BYTES: Final = WIDE_QUERIES_BYTES // 10
"""What the proofs that were made last take together."""
_PROOF_BYTES: Final = 1_200
_TEXT_BYTES: Final = 50
"""What a proof takes, and each of its texts beside its characters."""

_INSERTED: Final = frozenset({"Series", "LabelMatchers", "GroupBy"})
_NAMESPACE_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def wide_for_objects(
    template: str,
    *,
    series: str,
    selector: Selector,
    namespace: Matcher | None,
    object_label: str,
    extra_group_by: tuple[str, ...] = (),
    backend: BackendRef,
    dated: bool = False,
) -> Wide | None:
    """The wide query for the objects of a namespace, or of the cluster, and the rows of the request; None when not proven.

    `dated`: the ages of samples are needed too.
    """
    if not _is_name(namespace) or (namespace and namespace.label == object_label):
        return None
    if not _is_small(selector):
        return None
    query = _proven(
        _OfTemplate(
            template=template,
            series=series,
            selector=selector,
            namespace_label=namespace.label if namespace else "",
            object_label=object_label,
            extra_group_by=extra_group_by,
            dated=dated,
        )
    )
    return _wide(query, backend, namespace, object_label, ())


def wide_for_selector(
    template: str,
    *,
    series: str,
    selector: Selector,
    namespace: Matcher | None,
    backend: BackendRef,
    dated: bool = False,
) -> Wide | None:
    """The wide query for an external metric in any namespace, with any values of the labels that the selector sets equal."""
    if not _is_name(namespace) or not _is_small(selector):
        return None
    namespace_label = namespace.label if namespace else ""
    moved = _movable(selector, namespace_label)
    rest = tuple(each for each in selector.requirements if each not in moved)
    query = _proven(
        _OfTemplate(
            template=template,
            series=series,
            selector=Selector(rest),
            equal=tuple(each.key for each in moved),
            namespace_label=namespace_label,
            dated=dated,
        )
    )
    return _wide(query, backend, namespace, "", tuple((each.key, each.values[0]) for each in moved))


def wide_for_named(
    query: str,
    *,
    selector: Selector,
    where: tuple[tuple[str, str], ...],
    backend: BackendRef,
    dated: bool = False,
) -> Wide | None:
    """The wide query of a rule that names its query, for any values of the labels that the selector sets equal.

    `where`: the rows of the request's namespace, in the result for all of them.
    """
    if not _is_small(selector):
        return None
    moved = _movable(selector, where[0][0] if where else "")
    if not moved:
        return None
    equal = tuple((each.key, each.values[0]) for each in moved)
    rest = tuple(each for each in selector.requirements if each not in moved)
    rows = Rows(where=(*where, *equal))
    found = _proven(
        _OfNamedQuery(
            query=query,
            selector=Selector(rest),
            equal=tuple(label for label, _ in equal),
            key_labels=rows.key_labels,
            dated=dated,
        )
    )
    if found is None:
        return None
    return Wide(
        query=msgspec.structs.replace(found, backend=backend),
        rows=msgspec.structs.replace(rows, dropped=found.dropped),
    )


def _is_name(namespace: Matcher | None) -> bool:
    """A name that Kubernetes accepts needs no escaping in a regular expression."""
    return namespace is None or _NAMESPACE_NAME.fullmatch(namespace.value) is not None


def _is_small(selector: Selector) -> bool:
    requirements = selector.requirements
    values = (value for each in requirements for value in each.values)
    length = sum(len(each.key) for each in requirements) + sum(1 + len(value) for value in values)
    return len(requirements) <= REQUIREMENTS_MAX and length <= SELECTOR_LENGTH_MAX


def _movable(selector: Selector, namespace_label: str) -> tuple[Requirement, ...]:
    """The requirements that set a label equal to one value, which is not empty, once."""
    keys = [each.key for each in selector.requirements]
    return tuple(
        each
        for each in selector.requirements
        if each.operator in (Operator.EQUALS, Operator.DOUBLE_EQUALS)
        and len(each.values) == 1
        and each.values[0]
        and keys.count(each.key) == 1
        and each.key != namespace_label
    )


def _wide(
    query: WideQuery | None,
    backend: BackendRef,
    namespace: Matcher | None,
    object_label: str,
    equal: tuple[tuple[str, str], ...],
) -> Wide | None:
    if query is None:
        return None
    where = ((namespace.label, namespace.value), *equal) if namespace else equal
    return Wide(
        query=msgspec.structs.replace(query, backend=backend),
        rows=Rows(object_label=object_label, where=where, dropped=query.dropped),
        namespace=namespace.value if namespace else "",
    )


class _OfTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """What the wide query of a template depends on, beside the backend: for any values of the labels that are `equal`."""

    template: str
    series: str
    selector: Selector
    equal: tuple[str, ...] = ()
    namespace_label: str
    object_label: str = ""
    extra_group_by: tuple[str, ...] = ()
    dated: bool

    def proven(self) -> WideQuery | None:
        """None when it is not proven."""
        fixed = ((self.namespace_label,) if self.namespace_label else ()) + self.equal
        objects = (self.object_label,) if self.object_label else ()
        if not (fixed or objects) or not _only_inserts(self.template):
            return None
        narrow_matchers = [equals(label, _ANY_VALUE) for label in fixed]
        wide_matchers = [Matcher(label, "!=", "") for label in self.equal]
        if self.namespace_label:
            wide_matchers.append(Matcher(self.namespace_label, "=~", _NAMESPACES))
        if self.object_label:
            narrow_matchers.append(Matcher(self.object_label, "=~", _ANY_NAMES))
            wide_matchers.append(Matcher(self.object_label, "!=", ""))
        group_by = objects + self.extra_group_by
        try:
            narrow = self._rendered(narrow_matchers, group_by)
            wide = self._rendered(
                wide_matchers, (*group_by, *(each for each in fixed if each not in group_by))
            )
        except QueryNotBuilt:
            return None
        moved = Moved(
            equal=frozenset(fixed),
            object_label=self.object_label,
            narrow=tuple(narrow_matchers),
            wide=tuple(wide_matchers),
        )
        return _compared(narrow, wide, moved, key_labels=objects + fixed, dated=self.dated)

    def _rendered(self, matchers: Sequence[Matcher], group_by: Sequence[str]) -> str:
        return rendered_query(
            self.template,
            series=self.series,
            matchers=[*selector_matchers(self.selector), *matchers],
            group_by=group_by,
        )


class _OfNamedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What the wide query of a rule that names its query depends on, beside the backend."""

    query: str
    selector: Selector
    equal: tuple[str, ...]
    key_labels: tuple[str, ...]
    dated: bool

    def proven(self) -> WideQuery | None:
        """None when it is not proven."""
        if LEFT in self.query and not _only_inserts(self.query):
            return None
        narrow_matchers = tuple(equals(label, _ANY_VALUE) for label in self.equal)
        wide_matchers = tuple(Matcher(label, "!=", "") for label in self.equal)
        try:
            rest = tuple(selector_matchers(self.selector))
            narrow = restricted(self.query, (*rest, *narrow_matchers))
            wide = restricted(self.query, (*rest, *wide_matchers))
        except QueryNotBuilt:
            return None
        moved = Moved(equal=frozenset(self.equal), narrow=narrow_matchers, wide=wide_matchers)
        return _compared(narrow, wide, moved, key_labels=self.key_labels, dated=self.dated)


_Of = _OfTemplate | _OfNamedQuery


class _Proof(msgspec.Struct, frozen=True):
    query: WideQuery | None
    """None when it is not proven."""


def _size_bytes(of: _Of, proof: _Proof) -> int:
    labels = (*of.equal, *(proof.query.key_labels if proof.query else ()))
    texts = (*proof.query.parts, *proof.query.ages) if proof.query else ()
    of_texts = sum(_TEXT_BYTES + text_bytes(each) for each in (*labels, *texts))
    return _PROOF_BYTES + selector_bytes(of.selector) + of_texts


_proofs: SizedCache[_Of, _Proof] = SizedCache(PROOFS_BYTES, _size_bytes)


def _proven(of: _Of) -> WideQuery | None:
    """The wide query, on any backend; None when it is not proven."""
    proof = _proofs.get(of)
    if proof is None:
        proof = _Proof(of.proven())
        _proofs.keep(of, proof)
    return proof.query


def _compared(
    narrow: str,
    wide: str,
    moved: Moved,
    *,
    key_labels: tuple[str, ...],
    dated: bool,
) -> WideQuery | None:
    """The wide query, with more labels in its groupings if it needs them; None when it is not proven."""
    for text in (wide, keeping(wide, sorted(moved.equal))):
        dropped = extra_labels(narrow, text, moved)
        if dropped is None:
            continue
        ages = _ages(narrow, text, moved, key_labels) if dated else ""
        if ages is None:
            return None
        return WideQuery(
            parts=_around_namespaces(text),
            ages=_around_namespaces(ages) if ages else (),
            key_labels=key_labels,
            dropped=tuple(sorted(dropped)),
        )
    return None


def _ages(narrow: str, wide: str, moved: Moved, key_labels: tuple[str, ...]) -> str | None:
    """The wide query for the ages; empty when no sample can be old; None when it is not proven."""
    labels = (moved.object_label,) if moved.object_label else grouping_of(narrow)
    of_narrow, of_wide = (
        age_query(narrow, labels),
        age_query(wide, tuple(dict.fromkeys((*labels, *key_labels)))),
    )
    if not of_narrow and not of_wide:
        return ""
    # Rows are identified by the moved labels only.
    if {*labels} - {*key_labels} or extra_labels(of_narrow, of_wide, moved) is None:
        return None
    return of_wide


def _only_inserts(template: str) -> bool:
    """Whether it copies its fields as they are, so that its form does not depend on their values."""
    for node in compiled(template).nodes:
        match node:
            case Text():
                continue
            case Action(Pipe(commands=(Command(words=(Field(names=(name,)),)),), variables=())) if (
                name in _INSERTED
            ):
                continue
        return False
    return True


def _around_namespaces(query: str) -> tuple[str, ...]:
    """The text before, between and after the places where the namespaces are written."""
    return tuple(query.split(go_quote(_NAMESPACES)))


def text_for(parts: Sequence[str], namespaces: Sequence[str]) -> str:
    """The query for these namespaces."""
    return go_quote("|".join(namespaces)).join(parts)
