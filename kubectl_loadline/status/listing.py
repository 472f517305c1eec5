"""Every autoscaler of a namespace or of the cluster, of both kinds, as rows."""

from collections.abc import AsyncIterator, Mapping

import msgspec

from kubectl_loadline.cluster.autoscaler_name import KINDS
from kubectl_loadline.status.row import Row, row_of
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import WatchedKind
from wire.api import kube_json
from wire.api.status import StatusError, Unavailable
from wire.kube.list_and_watch import pages
from wire.kube.requests import Reader

PAGE_SIZE = 500


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The rows, sorted by namespace, name and kind, of the `kinds`; `refused` is why one of them is missing."""

    rows: tuple[Row, ...]
    kinds: tuple[WatchedKind, ...] = ()
    refused: str | None = None


async def listed(client: Reader, namespace: str, *, label_selector: str = "") -> Listing:
    """Of all namespaces if `namespace` is empty. A cluster without the kind LoadAutoscaler has HPAs only.

    A kind that the user may not list is left out. Raises `StatusError` if that is true of both, and `Unavailable`.
    """
    found: list[Row] = []
    kinds: list[WatchedKind] = []
    refusals: list[StatusError] = []
    params = {"labelSelector": label_selector} if label_selector else {}
    for kind in KINDS:
        try:
            found += [
                row_of(each, kind)
                async for each in _objects(client, kind.collection(namespace), params)
            ]
        except StatusError as error:
            if error.code == 403:
                refusals.append(error)
            elif error.code != 404:
                raise
        else:
            kinds.append(kind)
    if len(refusals) == len(KINDS):
        raise refusals[0]
    return Listing(
        rows=tuple(sorted(found, key=lambda each: (each.namespace, each.name, each.kind))),
        kinds=tuple(kinds),
        refused="; ".join(each.message for each in refusals) or None,
    )


async def _objects(
    client: Reader, path: str, selectors: Mapping[str, str]
) -> AsyncIterator[Autoscaler]:
    async def get(params: Mapping[str, str]) -> bytes:
        return await client.get(path, params)

    try:
        async for page in pages(path, get, selectors, PAGE_SIZE):
            for each in page.items:
                yield kube_json.decode(each, Autoscaler)
    except msgspec.DecodeError as error:
        raise Unavailable(f"the response is not a valid list of autoscalers: {error}") from error
