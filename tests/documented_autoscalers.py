"""The objects in the documents, and whole objects for their parts."""

from typing import Any

import yaml

from tests.documented_blocks import Block

Object = dict[str, Any]
NAMESPACE = "shop"
REQUIRED = {
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    "maxReplicas": 40,
}
_LOAD_AUTOSCALER = {"apiVersion": "loadline.io/v1beta1", "kind": "LoadAutoscaler"}


def whole_object(block: Block) -> Object:
    """The object of a YAML block, which may be its spec or a part of it: what is missing of a LoadAutoscaler is added."""
    part: Object = yaml.safe_load(block.text)
    if "kind" in part:
        return part
    spec = part.get("spec", part)
    return {**_LOAD_AUTOSCALER, "metadata": {"name": "web"}, "spec": {**REQUIRED, **spec}}
