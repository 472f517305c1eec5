"""Who has written which scale, from kube-apiserver's audit log."""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from testbed.waiting import DeadlineExceeded, until

POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [update, patch]
  resources: [{group: apps, resources: [deployments/scale]}]
- level: None
"""
SUCCESS = range(200, 300)


class ScaleWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A successful write of a Deployment's scale."""

    user: str
    namespace: str
    name: str
    replicas: int
    at_unix_seconds: float


class AuditLog:
    """Add `flags` to kube-apiserver's; then `scale_writes` reads the log."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._policy, self._log = directory / "audit-policy.yaml", directory / "audit.log"
        self._policy.write_text(POLICY)

    @property
    def flags(self) -> tuple[str, ...]:
        """For kube-apiserver."""
        return (f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}")

    def scale_writes(self, namespace: str) -> list[ScaleWrite]:
        """All successful writes in a namespace, in chronological order."""
        if not self._log.exists():
            return []
        # The last line may be in the middle of being written.
        *lines, _ = self._log.read_bytes().split(b"\n")
        events = (msgspec.json.decode(line) for line in lines)
        return sorted(
            (
                _scale_write(event)
                for event in events
                if event["objectRef"]["namespace"] == namespace
                and event["responseStatus"]["code"] in SUCCESS
            ),
            key=lambda write: write.at_unix_seconds,
        )

    def has_scales(self, namespace: str, replicas: Sequence[int]) -> list[ScaleWrite]:
        """Wait until these are the replicas of all successful writes in a namespace: a scale can be read before it is in the log.

        Raises `DeadlineExceeded`.
        """

        def written() -> list[ScaleWrite]:
            found = self.scale_writes(namespace)
            seen[:] = [each.replicas for each in found]
            return found if seen == list(replicas) else []

        seen: list[int] = []
        try:
            return until(written, what=f"the scales of {namespace} to be {list(replicas)}")
        except DeadlineExceeded as error:
            raise DeadlineExceeded(f"{error}; they are {seen}") from error


def _scale_write(event: dict[str, Any]) -> ScaleWrite:
    completed = datetime.datetime.fromisoformat(event["stageTimestamp"])
    return ScaleWrite(
        user=event["user"]["username"],
        namespace=event["objectRef"]["namespace"],
        name=event["objectRef"]["name"],
        replicas=event["requestObject"]["spec"].get("replicas", 0),
        at_unix_seconds=completed.timestamp(),
    )
