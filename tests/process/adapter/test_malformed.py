"""Malformed requests: each gets a response, and none stops the adapter or makes it grow."""

import http.client
import random
from pathlib import Path

from testbed import web
from testbed.waiting import until
from tests.process.adapter.conftest import AdapterClient, answers

REQUESTS = 1_000
GROWTH_BYTES_MAX = 64 * 1024 * 1024
ALPHABET = "ab/%2F*{}[]()=!,~\"'\\ \t;:&?#\x7fäß漢\U0001f600.-_09"
GROUPS = ("custom.metrics.k8s.io", "external.metrics.k8s.io", "metrics.k8s.io", "", "..", "x" * 300)
VERSIONS = ("v1beta1", "v1beta2", "v1", "", "%00")
KEYS = ("labelSelector", "metricLabelSelector", "fieldSelector", "limit", "watch", "pretty", "a")
METHODS = ("GET", "GET", "GET", "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "BREW")


def noise(rng: random.Random, length_max: int) -> str:
    text = "".join(rng.choices(ALPHABET, k=rng.randint(0, length_max)))
    return rng.choice((text, "%" + text, text * 50)) if rng.random() < 0.1 else text


def escaped(text: str) -> str:
    """As a client that escapes only what it must to send anything at all."""
    return "".join(
        c if 32 < ord(c) < 127 and c not in '#"' else f"%{ord(c) % 256:02x}" for c in text
    )


def target(rng: random.Random) -> str:
    parts = ["apis", rng.choice(GROUPS), rng.choice(VERSIONS)]
    parts += rng.choice(([], ["namespaces", noise(rng, 6)], ["watch"], ["nodes"]))
    parts += [
        rng.choice(("pods", "*", "metrics", noise(rng, 12))) for _ in range(rng.randint(0, 5))
    ]
    query = "&".join(f"{rng.choice(KEYS)}={noise(rng, 30)}" for _ in range(rng.randint(0, 3)))
    return escaped("/" + "/".join(parts) + (f"?{query}" if query else ""))


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def test_a_thousand_malformed_requests_are_all_answered(quick_adapter, gateway, token, queue):
    """Seeded, so that a failure can be repeated."""
    rng = random.Random(20240501)
    client = AdapterClient(quick_adapter(gateway.url), token)
    answers(client, queue, "12")
    before = resident_bytes(client.adapter.process.pid)
    seen: dict[int, int] = {}
    connection = connect(client.adapter.port)
    for _ in range(REQUESTS):
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": rng.choice(
                (
                    "*/*",
                    "application/json",
                    noise(rng, 20).encode("ascii", "ignore").decode().strip(),
                )
            ),
        }
        path = target(rng)
        try:
            connection.request(rng.choice(METHODS), path, headers=headers)
            response = connection.getresponse()
            response.read()
        except (http.client.HTTPException, OSError, ValueError):
            # The parser of either end may hang up on what is not HTTP; it must come back for the next.
            connection.close()
            connection = connect(client.adapter.port)
            continue
        assert response.status < 500 or "metricLabelSelector" in path, (path, response.status)
        seen[response.status] = seen.get(response.status, 0) + 1
    connection.close()
    assert sum(seen.values()) > REQUESTS * 0.9, seen
    log = client.adapter.process.log()
    assert "Traceback" not in log
    answers(client, queue, "12")
    assert resident_bytes(client.adapter.process.pid) - before < GROWTH_BYTES_MAX


def connect(port: int) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=web.trusting(None))


def test_a_selector_of_a_hundred_kilobytes_is_answered(quick_adapter, gateway, token, queue):
    client = AdapterClient(quick_adapter(gateway.url), token)
    answers(client, queue, "12")
    values = ",".join(f"value-{number}" for number in range(8_000))
    code, _ = until(
        lambda: client.get(f"{queue}?labelSelector=queue%20in%20({values})"), what="an answer"
    )
    assert code in (200, 500)  # Prometheus' own limit for a URL is in the way of GET.
    answers(client, queue, "12")
