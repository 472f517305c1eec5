"""The cached autoscalers: complete, and small."""

import asyncio
import json

import msgspec
import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS
from scaler.cluster.autoscalers import MESSAGE_CHARACTERS_MAX, WatchedAutoscalers
from tests.fakes import virtual_time
from tests.traced_memory import traced_memory
from tests.unit.scaler.runtime.test_watches import SilentServer, hpa

CONDITION = {
    "type": "AbleToScale",
    "status": "True",
    "lastTransitionTime": "2026-01-02T03:04:05Z",
    "reason": "ReadyForNewScale",
    "message": "recommended size matches current size",
}


STATUS = {"currentReplicas": 1, "desiredReplicas": 1, "conditions": [CONDITION]}


def listed() -> WatchedAutoscalers:
    items = [
        {**hpa("web"), "status": STATUS},
        {**hpa("mail"), "status": STATUS},
        {**hpa("new"), "status": {}},
    ]
    page = json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}).encode()

    async def scenario() -> WatchedAutoscalers:
        found = WatchedAutoscalers(SilentServer(page), HORIZONTAL_POD_AUTOSCALERS, ())
        task = asyncio.create_task(found.caches[0].run())
        await found.caches[0].synced()
        task.cancel()
        return found

    return virtual_time.run(scenario())


def test_an_item_of_a_list_gets_its_kind_and_keeps_everything_else():
    found = listed().get("shop/web")
    assert found is not None
    assert (found.api_version, found.kind) == ("autoscaling/v2", "HorizontalPodAutoscaler")
    assert found.spec.scale_target_ref.name == "web"
    assert found.status is not None
    (condition,) = found.status.conditions or ()
    assert (condition.type, condition.status) == ("AbleToScale", "True")
    assert (condition.reason, condition.message) == (CONDITION["reason"], CONDITION["message"])


def test_texts_that_autoscalers_have_in_common_are_kept_once():
    autoscalers = listed()
    web, mail = autoscalers.get("shop/web"), autoscalers.get("shop/mail")
    assert web is not None
    assert mail is not None
    assert web.metadata.namespace is mail.metadata.namespace
    assert web.spec.scale_target_ref.api_version is mail.spec.scale_target_ref.api_version
    (one,), (other,) = (each.status.conditions for each in (web, mail))
    for field in ("type", "status", "reason", "message"):
        assert getattr(one, field) is getattr(other, field)


def test_messages_that_are_too_long_to_be_common_are_not_kept_beside_their_autoscalers():
    watched = listed()
    assert list(watched._messages) == [CONDITION["message"]]
    [condition] = watched.get("shop/web").status.conditions
    own = msgspec.structs.replace(condition, message="x" * (MESSAGE_CHARACTERS_MAX + 1))
    found = watched.get("shop/new")
    changed = msgspec.structs.replace(
        found, status=msgspec.structs.replace(found.status, conditions=(own,))
    )
    assert watched._completed(changed).status.conditions[0].message == own.message
    assert list(watched._messages) == [CONDITION["message"]]


class TwoNamespaces(SilentServer):
    """Lists the autoscalers of each at another version."""

    async def get(self, path, params=None, *, accept=""):
        version = "7" if "/shop/" in path else "9"
        return json.dumps({"metadata": {"resourceVersion": version}, "items": []}).encode()


def test_the_version_is_that_of_the_watch_of_the_namespace():
    async def scenario():
        found = WatchedAutoscalers(TwoNamespaces(), HORIZONTAL_POD_AUTOSCALERS, ("shop", "bank"))
        assert found.version("shop") == ""
        tasks = [asyncio.create_task(each.run()) for each in found.caches]
        for each in found.caches:
            await each.synced()
        for task in tasks:
            task.cancel()
        return found

    found = virtual_time.run(scenario())
    assert (found.version("shop"), found.version("bank")) == ("7", "9")
    assert listed().version("any") == "1"


def large(**changed: object) -> dict[str, object]:
    """An HPA of 1.3 MB, with what `changed` names in its metadata or one metric."""
    found = hpa("large")
    selector = changed.pop("selector", None)
    metric = {"name": "queue", "selector": selector} if selector else {"name": "queue"}
    source = {"metric": metric, "target": {"type": "Value", "value": "1"}}
    found["spec"] = {**found["spec"], "metrics": [{"type": "External", "external": source}]}
    found["metadata"] = {**found["metadata"], **changed}
    return found


VALUES = [f"{number:x}" for number in range(180_000)]
MANY = {
    "values of a selector": {
        "selector": {"matchExpressions": [{"key": "shard", "operator": "In", "values": VALUES}]}
    },
    "labels of a selector": {"selector": {"matchLabels": dict.fromkeys(VALUES[:120_000], "")}},
    "labels": {"labels": dict.fromkeys(VALUES[:120_000], "")},
    "finalizers": {"finalizers": VALUES},
    "owners": {
        "ownerReferences": [{"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "u"}] * 20_000
    },
}


@pytest.mark.deviation("spec-size")
@pytest.mark.parametrize("what", MANY)
def test_an_autoscaler_that_is_too_large_does_not_fill_the_memory(what):
    item = large(**MANY[what])
    encoded = json.dumps(item).encode()
    assert len(encoded) > 1_000_000
    watched = WatchedAutoscalers(SilentServer(), HORIZONTAL_POD_AUTOSCALERS, ())
    with traced_memory() as traced:
        kept = watched.caches[0]._reader.read(msgspec.Raw(encoded))
        assert traced.kept_bytes < 200_000
    assert kept is None or kept.key == "shop/large"


def test_metadata_that_is_too_large_is_in_the_log_with_what_to_do(caplog):
    encoded = json.dumps(large(finalizers=VALUES)).encode()
    watched = WatchedAutoscalers(SilentServer(), HORIZONTAL_POD_AUTOSCALERS, ())
    assert watched.caches[0]._reader.read(msgspec.Raw(encoded)) is None
    assert "shop/large" in caplog.text
    assert "together, which is not read: remove some" in caplog.text


def test_metadata_as_large_as_annotations_may_be_is_kept():
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "x" * 262_000}
    encoded = json.dumps(large(annotations=annotations)).encode()
    watched = WatchedAutoscalers(SilentServer(), HORIZONTAL_POD_AUTOSCALERS, ())
    kept = watched.caches[0]._reader.read(msgspec.Raw(encoded))
    assert kept is not None
    assert kept.metadata.annotations == annotations
