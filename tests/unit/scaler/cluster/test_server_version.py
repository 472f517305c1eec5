"""The version of the API server decides whose HPA controller is equalled, also after an upgrade."""

import asyncio
import json
import logging

import pytest

from scaler.algorithm.settings import Settings
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.api.upstream import NEWEST, upstream_of
from scaler.cluster.server_version import READ_SECONDS, ServerVersion
from scaler.cluster.telemetry import Telemetry
from tests.fakes import virtual_time
from wire.api.status import StatusError, Unavailable

FORBIDDEN = StatusError("no rights", code=403, reason="Forbidden")


class Server:
    """Answers with these minor versions one after the other, and then with the last one again."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.read = 0

    async def get(self, path, params=None, *, accept=""):
        assert path == "/version"
        self.read += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, bytes):
            return answer
        return json.dumps({"major": "1", "minor": answer, "gitVersion": "v0"}).encode()


async def following(server, seconds=1.0, *, settings=None, shown=None):
    """A version that was followed for this time."""
    found = ServerVersion(
        server,
        settings or Settings(),
        is_followed=True,
        on_version=lambda *versions: shown.append(versions) if shown is not None else None,
    )
    task = asyncio.create_task(found.run())
    await virtual_time.passes(seconds)
    task.cancel()
    return found


def verbose(version):
    return {each.name: each.problem() for each in version.checks()}


@pytest.mark.parametrize(("minor", "known"), [("35", 35), ("36", 36), ("37", 37), ("36+", 36)])
def test_the_controller_of_the_server_is_equalled(minor, known):
    version = virtual_time.run(following(Server(minor)))
    assert version.settings.upstream == upstream_of(known)
    assert not any(verbose(version).values())


@pytest.mark.parametrize(
    ("minor", "known", "words"),
    [
        ("38", 37, "Kubernetes 1.38 is newer than what this version of Loadline knows"),
        ("34", 35, "Kubernetes 1.34 is older than what this version of Loadline knows"),
    ],
)
def test_an_unknown_version_is_logged_once_and_shown(minor, known, words, caplog):
    shown = []
    with caplog.at_level(logging.INFO):
        version = virtual_time.run(following(Server(minor), 5 * READ_SECONDS, shown=shown))
    assert version.settings.upstream == upstream_of(known)
    warnings = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert words in warnings[0]
    assert shown == [(f"1.{minor}", f"1.{known}")]
    (check,) = (each for each in version.checks() if each.problem())
    assert check.informs
    assert words in check.problem()


def test_nothing_is_known_until_the_version_was_read_and_the_check_says_the_fix():
    async def unread():
        server = Server(FORBIDDEN)
        version = await following(server, 20)
        assert not await _is_known(version)
        return server, version

    server, version = virtual_time.run(unread())
    assert server.read > 3
    (check,) = (each for each in version.checks() if each.problem())
    assert not check.informs
    assert "no rights" in check.problem()
    assert "set --kubernetes-version" in check.problem()


@pytest.mark.parametrize(
    "first", [FORBIDDEN, Unavailable("down"), b"<html>", b'{"major": "1", "minor": ""}']
)
def test_a_version_that_cannot_be_read_is_read_again_soon(first):  # fmt: skip
    async def read_again():
        version = await following(Server(first, "36"), 2)
        assert await _is_known(version)
        return version

    assert virtual_time.run(read_again()).settings.upstream == upstream_of(36)


def test_an_upgrade_is_noticed_within_five_minutes_without_any_watch(caplog):
    shown = []
    with caplog.at_level(logging.INFO):
        version = virtual_time.run(following(Server("36", "37"), READ_SECONDS + 1, shown=shown))
    assert version.settings.upstream == NEWEST
    assert shown == [("1.36", "1.36"), ("1.37", "1.37")]
    assert "the API server runs Kubernetes 1.37, it was 1.36" in caplog.text


def test_a_watch_that_opens_has_the_version_read_again_after_seconds_but_not_more_often():
    async def upgraded():
        server = Server("36", "37")
        version = ServerVersion(server, Settings(), is_followed=True)
        task = asyncio.create_task(version.run())
        await virtual_time.passes(1)
        for _ in range(8):
            version.read_again()
            await virtual_time.passes(1)
        before = server.read, version.settings.upstream.minor
        await virtual_time.passes(1)
        after = server.read, version.settings.upstream.minor
        task.cancel()
        return before, after

    assert virtual_time.run(upgraded()) == ((1, 36), (2, 37))


def test_an_outage_keeps_the_version_that_was_known():
    version = virtual_time.run(following(Server("36", Unavailable("down")), 3 * READ_SECONDS))
    assert version.settings.upstream == upstream_of(36)


def test_the_settings_stay_the_same_object_while_the_version_stays():
    settings = Settings()
    version = virtual_time.run(following(Server("37"), 3 * READ_SECONDS, settings=settings))
    assert version.settings is settings


def test_a_feature_gate_stays_off_through_an_upgrade():
    settings = Settings(gated_traits={"keeps_generations": False})
    version = virtual_time.run(following(Server("36", "37"), READ_SECONDS + 1, settings=settings))
    assert version.settings.upstream.reconciles_new_at_once
    assert not version.settings.upstream.keeps_generations


def test_a_given_version_is_not_read():
    async def fixed():
        server, shown = Server("36"), []
        version = ServerVersion(
            server, Settings(), is_followed=False, on_version=lambda *found: shown.append(found)
        )
        await version.run()
        await version.known()
        return server.read, shown, version.checks()

    assert virtual_time.run(fixed()) == (0, [("", "1.37")], ())


@pytest.mark.parametrize(
    ("kind", "labels"),
    [
        (HORIZONTAL_POD_AUTOSCALERS, [{"server": "1.38", "behavior": "1.37"}]),
        (LOAD_AUTOSCALERS, []),
    ],
)
def test_the_metric_has_the_current_versions_only_and_none_for_load_autoscalers(kind, labels):
    telemetry = Telemetry(kind)
    telemetry.show_kubernetes_version("1.36", "1.36")
    telemetry.show_kubernetes_version("1.38", "1.37")
    found = [
        (sample.labels, sample.value)
        for family in telemetry.registry.collect()
        for sample in family.samples
        if sample.name == "loadline_scaler_kubernetes_version_info"
    ]
    assert found == [(each, 1.0) for each in labels]


async def _is_known(version):
    try:
        async with asyncio.timeout(0.1):
            await version.known()
    except TimeoutError:
        return False
    return True
