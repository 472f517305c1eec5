"""TokenReview and SubjectAccessReview: one POST to the API server that delegated checks rest on."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from wire.api.status import StatusError, Unavailable
from wire.kube.requests import Writer

REVIEW_SECONDS: Final = 10.0
"""As upstream's clients of both (apiserver, server/options: `ClientTimeout` of the authorizer, `TokenRequestTimeout`)."""


async def review(client: Writer, path: str, *, kind: str, spec: Mapping[str, Any]) -> bytes:
    """The API server's response; `path` ends in `/apis/GROUP/VERSION/RESOURCE`.

    Raises `Unavailable` for every failure: an API server that refuses the review itself says nothing
    about the client's rights.
    """
    group_version = "/".join(path.split("/")[2:4])
    document = {"apiVersion": group_version, "kind": kind, "spec": spec}
    try:
        async with asyncio.timeout(REVIEW_SECONDS):
            return await client.create(path, msgspec.json.encode(document))
    except TimeoutError as error:
        cause = f"the API server did not respond to a {kind} within {REVIEW_SECONDS:g} s"
        raise Unavailable(cause) from error
    except StatusError as error:
        hint = (
            ". Bind the ClusterRole system:auth-delegator to the service account of this program"
            if error.code == 403
            else ""
        )
        raise Unavailable(
            f"the API server refused a {kind} ({error.code}): {error.message}{hint}"
        ) from error
