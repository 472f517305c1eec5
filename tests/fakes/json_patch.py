"""The JSON patches (RFC 6902) that the programs send, as kube-apiserver applies them: all operations, or none."""

import copy
from typing import Any

import msgspec

from wire.api.status import StatusError


def patched(document: dict[str, Any], body: bytes) -> dict[str, Any]:
    """The document after the operations. Raises `StatusError` with the code of kube-apiserver if a `test` fails."""
    found = copy.deepcopy(document)
    for operation in msgspec.json.decode(body):
        *parents, last = operation["path"].strip("/").split("/")
        parent = found
        for each in parents:
            parent = parent[each]
        match operation["op"]:
            case "test" if last in parent and parent[last] == operation["value"]:
                pass
            case "replace" if last in parent:
                parent[last] = operation["value"]
            case _:
                raise StatusError(
                    "the server rejected our request due to an error in our request", code=422, reason="Invalid"
                )  # fmt: skip
    return found
