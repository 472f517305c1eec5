"""The CustomResourceDefinition of ScalingMemories: kube-apiserver drops fields that its schema does not have."""

from typing import Any

import msgspec
import yaml

from scaler.memory.scaling_memory import ScalingMemory, StoredHistory
from scaler.model.memory import Recommendation, ScaleEvent
from testbed.programs import CRD

EVENTS = (
    ScaleEvent(replica_change=2, happened_at_unix_seconds=1.0, outdated=True, may_be_older=True),
)
FULL = ScalingMemory(
    watched_namespace="shop",
    stored_by="a",
    histories={
        "u1": StoredHistory(
            recommendations=(
                Recommendation(replicas=3, since_unix_seconds=1.0, until_unix_seconds=2.0),
            ),
            scale_up_events=EVENTS,
            scale_down_events=EVENTS,
            scaled_to_zero=True,
            replicas=3,
        )
    },
)


def unknown(document: Any, schema: dict[str, Any], path: str = "") -> list[str]:
    """The paths of the fields that the schema does not have."""
    if isinstance(document, list):
        return [each for item in document for each in unknown(item, schema["items"], f"{path}[]")]
    if not isinstance(document, dict) or path == ".metadata":
        return []
    found = []
    for name, value in document.items():
        inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if inner is None:
            found.append(f"{path}.{name}")
        else:
            found += unknown(value, inner, f"{path}.{name}")
    return found


def test_every_field_that_is_written_is_in_the_schema():
    crd = yaml.safe_load(CRD.with_name("scalingmemories.yaml").read_text())
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert unknown(msgspec.to_builtins(FULL), schema) == []
    del schema["properties"]["storedBy"]
    assert unknown(msgspec.to_builtins(FULL), schema) == [".storedBy"]
