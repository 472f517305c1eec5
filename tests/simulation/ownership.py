"""Which process owns which namespace, from the Leases that the model API server keeps."""

from collections.abc import Iterable

from tests.simulation.cluster import Document
from tests.simulation.journal import Held, Journal

SHARDS = 64
FNV_OFFSET_BASIS, FNV_PRIME = 14695981039346656037, 1099511628211


def shard_of(namespace: str) -> int:
    """The Lease with this number decides who owns the namespace: FNV-1a with 64 bits, as in KEP-5866, modulo `SHARDS`."""
    found = FNV_OFFSET_BASIS
    for octet in namespace.encode():
        found = (found ^ octet) * FNV_PRIME % 2**64
    return found % SHARDS


class Ownership:
    """Follows the writes of Leases, and notes each change in the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._processes: dict[str, str] = {}
        self._holders: dict[str, str] = {}
        self._owners: dict[str, str] = {}

    def written(self, at: float, process: str, lease: Document) -> None:
        """A process has written a Lease; without one, someone else has."""
        name, holder = lease["metadata"]["name"], lease["spec"].get("holderIdentity") or ""
        is_new = bool(
            holder and process and "-shard-" not in name and holder not in self._processes
        )
        if is_new:
            self._processes[holder] = process
        elif self._holders.get(name) == holder:
            return  # A renewal changes no owner.
        self._holders[name] = holder
        self._note_owners(at)

    def restored(self, at: float, leases: Iterable[Document]) -> None:
        """These are all that there are now."""
        self._holders = {
            each["metadata"]["name"]: each["spec"].get("holderIdentity") or "" for each in leases
        }
        self._note_owners(at)

    def _note_owners(self, at: float) -> None:
        for namespace in self._journal.namespaces:
            owner = self._owner(namespace)
            if owner != self._owners.get(namespace, ""):
                self._owners[namespace] = owner
                self._journal.say(at, f"{owner or 'no replica'} owns {namespace}")
                self._journal.holders.append(Held(at=at, process=owner, namespace=namespace))

    def _owner(self, namespace: str) -> str:
        if not self._journal.is_sharded:
            return self._processes.get(self._holders.get("loadline-scaler", ""), "")
        holder = self._holders.get(f"loadline-scaler-shard-{shard_of(namespace):02}", "")
        members = {held for name, held in self._holders.items() if "-member-" in name}
        return self._processes.get(holder, "") if holder in members else ""
