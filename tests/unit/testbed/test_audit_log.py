"""The writes of a scale in an audit log."""

import json

from testbed.audit_log import AuditLog


def event(user: str, replicas: int, *, at: str, code: int = 200, namespace: str = "shop") -> str:
    return json.dumps(
        {
            "user": {"username": user},
            "objectRef": {"namespace": namespace, "name": "web", "subresource": "scale"},
            "responseStatus": {"code": code},
            "requestObject": {"spec": {"replicas": replicas} if replicas else {}},
            "stageTimestamp": at,
        }
    )


def test_successful_writes_of_the_namespace_are_listed_in_chronological_order(tmp_path):
    log = AuditLog(tmp_path)
    lines = [
        event("b", 5, at="2026-01-01T00:00:02.500000Z"),
        event("a", 3, at="2026-01-01T00:00:01.000000Z"),
        event("c", 7, at="2026-01-01T00:00:03.000000Z", code=409),
        event("d", 9, at="2026-01-01T00:00:03.000000Z", namespace="other"),
        event("b", 0, at="2026-01-01T00:00:04.000000Z"),
    ]
    (tmp_path / "audit.log").write_text("".join(f"{line}\n" for line in lines))
    writes = log.scale_writes("shop")
    assert [(write.user, write.replicas) for write in writes] == [("a", 3), ("b", 5), ("b", 0)]
    assert writes[1].at_unix_seconds - writes[0].at_unix_seconds == 1.5


def test_a_line_that_is_not_complete_is_not_read_yet(tmp_path):
    log = AuditLog(tmp_path)
    first, second = (event("a", replicas, at="2026-01-01T00:00:01Z") for replicas in (3, 5))
    (tmp_path / "audit.log").write_text(f"{first}\n{second[:40]}")
    assert [write.replicas for write in log.scale_writes("shop")] == [3]
    (tmp_path / "audit.log").write_text(f"{first}\n{second}\n")
    assert [write.replicas for write in log.scale_writes("shop")] == [3, 5]


def test_without_a_log_there_are_no_writes(tmp_path):
    assert AuditLog(tmp_path).scale_writes("shop") == []
