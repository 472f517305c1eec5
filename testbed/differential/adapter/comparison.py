"""When two answers are the same: status, media type and every key of the body; the clock is the only excuse.

Documents are compared decoded, so that layout does not count. What each program fills in with its own "now" is
replaced by a word, after a check that it is about now.
"""

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from testbed.differential.adapter.sides import Answer

NOW = "<now>"
NOW_TOLERANCE_SECONDS = 10.0
LISTS_OF_VALUES = ("MetricValueList",)
USAGE_KINDS = ("PodMetrics", "PodMetricsList", "NodeMetrics", "NodeMetricsList")


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """An answer without what may differ."""

    status: int
    content_type: str
    document: Any
    evaluated_timestamps: bool = False
    """Whether it says when Prometheus evaluated, where the peer says what time it is."""

    @property
    def reason(self) -> str:
        """Of a Status; empty otherwise."""
        if isinstance(self.document, Mapping) and self.document.get("kind") == "Status":
            return str(self.document.get("reason", ""))
        return ""


def seen(answer: Answer, *, now_seconds: float, moment_seconds: float) -> Seen:
    """Decoded by its media type, and without the time of day; `moment_seconds` is when Prometheus evaluates."""
    document = _decoded(answer)
    evaluated = False
    if isinstance(document, dict):
        evaluated = _without_moment(document, moment_seconds)
        _without_now(document, now_seconds)
        _without_chance(document)
    return Seen(
        status=answer.status,
        content_type=answer.content_type.replace(" ", "").lower(),
        document=document,
        evaluated_timestamps=evaluated,
    )


def differences(theirs: Seen, ours: Seen) -> list[str]:
    """Each place where they differ, as `where: theirs, ours`; empty when they are the same."""
    found = []
    if theirs.status != ours.status:
        found.append(f"status: {theirs.status}, {ours.status}")
    if theirs.content_type != ours.content_type:
        found.append(f"content type: {theirs.content_type}, {ours.content_type}")
    found += _differences("body", theirs.document, ours.document)
    return found


def _decoded(answer: Answer) -> Any:
    kind = answer.content_type.split(";")[0]
    try:
        if kind == "application/json":
            return json.loads(answer.body) if answer.body else None
        if kind == "application/yaml":
            return yaml.load(answer.body, Loader=_TextLoader)  # noqa: S506  a SafeLoader, see there
    except ValueError as error:
        return f"malformed {kind}: {error}: {answer.body[:200]!r}"
    return answer.body.decode(errors="backslashreplace")


class _TextLoader(yaml.SafeLoader):
    """Leaves timestamps the texts that they are in JSON."""


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _without_moment(document: dict[str, Any], moment_seconds: float) -> bool:
    if document.get("kind") not in LISTS_OF_VALUES:
        return False
    found = [
        item
        for item in document.get("items") or []
        if item.get("timestamp") and int(moment_seconds) == _unix_seconds(item["timestamp"])
    ]
    for item in found:
        item["timestamp"] = NOW
    return bool(found)


def _without_now(document: dict[str, Any], now_seconds: float) -> None:
    kind = document.get("kind")
    items = document.get("items") or []
    if kind in LISTS_OF_VALUES:
        for item in items:
            _mask(item, "timestamp", now_seconds)
    if kind in USAGE_KINDS:
        for item in (document, *items):
            _mask(item.get("metadata", {}), "creationTimestamp", now_seconds)


def _without_chance(document: dict[str, Any]) -> None:
    """What the peer itself answers now so, now so: it walks maps, and it names its own port."""
    kind = document.get("kind")
    items = document.get("items") or []
    if kind in USAGE_KINDS:
        items.sort(
            key=lambda item: (item["metadata"].get("namespace", ""), item["metadata"]["name"])
        )
        for item in (document, *items):
            item.get("containers", []).sort(key=lambda container: container["name"])
    if kind == "APIResourceList":
        document["resources"].sort(key=lambda each: (each["name"], each["namespaced"]))
    for group in document.get("groups") or [document]:
        for address in group.get("serverAddressByClientCIDRs") or ():
            address["serverAddress"] = address["serverAddress"].rpartition(":")[0]


def _mask(holder: dict[str, Any], key: str, now_seconds: float) -> None:
    text = holder.get(key)
    if not isinstance(text, str) or text == NOW:
        return
    if abs(_unix_seconds(text) - now_seconds) <= NOW_TOLERANCE_SECONDS:
        holder[key] = NOW


def _unix_seconds(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


def _differences(where: str, theirs: Any, ours: Any) -> Iterator[str]:
    if type(theirs) is not type(ours):
        yield f"{where}: {_short(theirs)}, {_short(ours)}"
    elif isinstance(theirs, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            yield from _differences(f"{where}.{key}", theirs.get(key, ...), ours.get(key, ...))
    elif isinstance(theirs, list):
        if len(theirs) != len(ours):
            yield f"{where}: {len(theirs)} items, {len(ours)} items"
        for index, (left, right) in enumerate(zip(theirs, ours, strict=False)):
            yield from _differences(f"{where}[{index}]", left, right)
    elif theirs != ours:
        yield f"{where}: {_short(theirs)}, {_short(ours)}"


def _short(value: Any) -> str:
    if value is ...:
        return "(absent)"
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}..."
