"""The CustomResourceDefinition of ScalingMemories: kube-apiserver drops fields that its schema does not have."""

import msgspec

from scaler.api.history import Recommendation, ScaleEvent
from scaler.cluster.memories.scaling_memory import ScalingMemory, StoredHistory
from testbed.programs import CRD
from tests.crd_schema import schema_in, unknown_fields

EVENTS = (
    ScaleEvent(replica_change=2, happened_at_unix_seconds=1.0, outdated=True, may_be_older=True),
)
FULL = ScalingMemory(
    watched_namespace="shop",
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


def test_every_field_that_is_written_is_in_the_schema():
    schema = schema_in(CRD.with_name("scalingmemories.yaml"))
    written = msgspec.to_builtins(FULL)
    del written["metadata"]
    assert unknown_fields(written, schema) == []
    del schema["properties"]["watchedNamespace"]
    assert unknown_fields(written, schema) == [".watchedNamespace"]
