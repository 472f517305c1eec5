"""When two responses are equal: status, media type and every key of the body; only the current time may differ.

Bodies are decoded before the comparison, so formatting does not count. A timestamp that a program sets to its
current time is replaced by a placeholder after a check that it is close to the current time.
"""

import datetime
import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from testbed.differential.adapter.adapter_instances import Response

NOW = "<now>"
NOW_TOLERANCE_SECONDS = 10.0
LISTS_OF_VALUES = ("MetricValueList",)
USAGE_KINDS = ("PodMetrics", "PodMetricsList", "NodeMetrics", "NodeMetricsList")


class ComparableResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response without the parts that may differ."""

    status: int
    content_type: str
    document: Any
    evaluated_timestamps: bool = False
    """Whether timestamps are those of the evaluation; prometheus-adapter returns its current time."""

    @property
    def reason(self) -> str:
        """The reason of a Status; empty for anything else."""
        if isinstance(self.document, Mapping) and self.document.get("kind") == "Status":
            return str(self.document.get("reason", ""))
        return ""


def comparable(
    response: Response, *, now_seconds: float, moment_seconds: float
) -> ComparableResponse:
    """Decode by media type and replace current timestamps; `moment_seconds` is Prometheus' evaluation time."""
    document = _decoded(response)
    evaluated = False
    if isinstance(document, dict):
        evaluated = _without_moment(document, moment_seconds)
        _without_now(document, now_seconds)
        _without_randomness(document)
    return ComparableResponse(
        status=response.status,
        content_type=response.content_type.replace(" ", "").lower(),
        document=document,
        evaluated_timestamps=evaluated,
    )


def differences(upstream: ComparableResponse, loadline: ComparableResponse) -> list[str]:
    """Each difference as `path: upstream, loadline`; empty if the responses are equal."""
    found = []
    if upstream.status != loadline.status:
        found.append(f"status: {upstream.status}, {loadline.status}")
    if upstream.content_type != loadline.content_type:
        found.append(f"content type: {upstream.content_type}, {loadline.content_type}")
    found += _differences("body", upstream.document, loadline.document)
    return found


def _decoded(response: Response) -> Any:
    kind = response.content_type.split(";")[0]
    try:
        if kind == "application/json":
            return json.loads(response.body) if response.body else None
        if kind == "application/yaml":
            return yaml.load(response.body, Loader=_TextLoader)  # noqa: S506  a subclass of SafeLoader
    except ValueError as error:
        return f"malformed {kind}: {error}: {response.body[:200]!r}"
    return response.body.decode(errors="backslashreplace")


class _TextLoader(yaml.SafeLoader):
    """Reads timestamps as strings, as in JSON."""


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


def _without_randomness(document: dict[str, Any]) -> None:
    """Sort what prometheus-adapter returns in the random order of Go maps, and drop its own port."""
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


def _differences(path: str, upstream: Any, loadline: Any) -> Iterator[str]:
    if type(upstream) is not type(loadline):
        yield f"{path}: {_short(upstream)}, {_short(loadline)}"
    elif isinstance(upstream, dict):
        for key in sorted(upstream.keys() | loadline.keys()):
            yield from _differences(f"{path}.{key}", upstream.get(key, ...), loadline.get(key, ...))
    elif isinstance(upstream, list):
        if len(upstream) != len(loadline):
            yield f"{path}: {len(upstream)} items, {len(loadline)} items"
        for index, (left, right) in enumerate(zip(upstream, loadline, strict=False)):
            yield from _differences(f"{path}[{index}]", left, right)
    elif upstream != loadline:
        yield f"{path}: {_short(upstream)}, {_short(loadline)}"


def _short(value: Any) -> str:
    if value is ...:
        return "(absent)"
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}..."
