"""A replica that lost its lease writes nothing, whatever it was about to do."""

import pytest

from scaler.runtime.fencing import WritesWhileLeading
from wire.api.status import NotSent, Unavailable


class Recording:
    """A client that records its requests."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send(self, method, path, *, before_each, **_):
        before_each()
        self.sent.append(f"{method} {path}")
        return b"{}"


WRITES = [
    pytest.param(lambda client: client.create("/api/v1/namespaces/shop/pods", b""), id="POST"),
    pytest.param(lambda client: client.replace("/api/v1/namespaces/shop/pods", b""), id="PUT"),
    pytest.param(lambda client: client.patch("/api/v1/namespaces/shop/pods", b""), id="PATCH"),
]


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_is_sent_while_the_replica_leads(write):
    client = Recording()
    await write(WritesWhileLeading(client, lambda _: None))
    assert len(client.sent) == 1


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_is_not_sent_when_another_replica_may_lead(write):
    client = Recording()
    with pytest.raises(NotSent, match="no longer leads shop"):
        await write(
            WritesWhileLeading(
                client, lambda namespace: f"this replica no longer leads {namespace}"
            )
        )
    assert client.sent == []


async def test_a_write_has_both_checks():
    """That of the Lease and that of the caller."""

    def refuse() -> None:
        raise Unavailable("too old")

    client = Recording()
    with pytest.raises(Unavailable, match="too old"):
        await WritesWhileLeading(client, lambda _: None).replace("/a", b"", before_each=refuse)
    assert client.sent == []


async def test_reads_do_not_depend_on_the_lease():
    client = Recording()
    await WritesWhileLeading(
        client, lambda namespace: f"this replica no longer leads {namespace}"
    ).get("/a")
    assert client.sent == ["GET /a"]
