"""A good new file becomes active; a bad one changes nothing and is reported."""

import asyncio
import os
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from adapter.config import ConfigError, ConfigProblem, ProblemCode
from adapter.runtime.reloader import ConfigurationReloader
from testbed import waiting
from tests.deadline import DEADLINE_SECONDS

ONE = "externalRules:\n- {seriesQuery: one, metricsQuery: 'sum(<<.Series>>)'}\n"
TWO = ONE.replace("one", "two")
BAD = "externalRules: 7\n"


class Activated:
    """Records what became active; nothing does while a file that the configuration names is `missing`."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.happened = asyncio.Event()
        self.missing = ""
        self.tried = 0

    async def __call__(self, configuration) -> None:
        self.tried += 1
        if self.missing:
            problem = ConfigProblem(
                code=ProblemCode.UNUSABLE_FILE,
                path="backends[0]",
                line=0,
                problem=self.missing,
                fix="Mount it.",
            )
            raise ConfigError("config.yaml", [problem])
        self.queries.append(configuration.rules[0].series_query)
        self.happened.set()


@pytest.fixture
def file(tmp_path):
    """As a ConfigMap is mounted: the file is a link through a link that is swapped."""
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "config.yaml").write_text(ONE)
    (tmp_path / "..data").symlink_to("first")
    (tmp_path / "config.yaml").symlink_to("..data/config.yaml")
    return tmp_path / "config.yaml"


def swap(file, content: str) -> None:
    folder = file.parent
    new = folder / f"version{len(list(folder.iterdir()))}"
    new.mkdir()
    (new / "config.yaml").write_text(content)
    (folder / "..new").symlink_to(new.name)
    (folder / "..new").replace(folder / "..data")


@pytest.fixture
async def reloader(file):
    activated = Activated()
    reloader = ConfigurationReloader(file, activated, poll_seconds=0.01)
    reloader.activated = activated
    await reloader.start()
    activated.happened.clear()
    running = asyncio.create_task(reloader.run())
    yield reloader
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def until(condition) -> None:
    await asyncio.to_thread(
        waiting.until, condition, what="the reloader", deadline_seconds=DEADLINE_SECONDS
    )


async def test_a_swapped_configmap_becomes_active(reloader, file):
    swap(file, TWO)
    await asyncio.wait_for(reloader.activated.happened.wait(), DEADLINE_SECONDS)
    await until(lambda: reloader.generation == 2)
    assert reloader.activated.queries == ["one", "two"]


async def test_a_bad_file_is_reported_and_the_fixed_one_becomes_active(reloader, file, caplog):
    swap(file, BAD)
    await until(lambda: reloader.problem)
    assert (reloader.generation, reloader.activated.queries) == (1, ["one"])
    assert "the previous configuration stays active" in caplog.text
    swap(file, TWO)
    await until(lambda: reloader.generation == 2)
    assert reloader.problem is None
    assert reloader.activated.queries == ["one", "two"]


def is_last_reload_successful():
    return bool(REGISTRY.get_sample_value("loadline_adapter_configuration_last_reload_successful"))


@pytest.mark.parametrize("content", [ONE, BAD], ids=["accepted", "rejected"])
async def test_a_file_that_cannot_be_read_is_reported_until_it_can_be(
    reloader, file, content, caplog
):
    """The configuration stays active; a program that is started now would fail."""
    if content == BAD:
        swap(file, BAD)
        await until(lambda: reloader.problem)
    rejection = reloader.problem
    (file.parent / "..data").rename(file.parent / "elsewhere")
    await until(lambda: reloader.problem != rejection)
    assert "No such file" in reloader.problem
    assert not is_last_reload_successful()
    (file.parent / "elsewhere").rename(file.parent / "..data")
    await until(lambda: reloader.problem == rejection)
    assert is_last_reload_successful() == (content == ONE)
    assert caplog.text.count("No such file") == 1
    assert (reloader.generation, reloader.activated.queries) == (1, ["one"])


async def test_reloads_are_counted_by_their_outcome(reloader, file):
    def counted(outcome):
        name = "loadline_adapter_configuration_reloads_total"
        return REGISTRY.get_sample_value(name, {"outcome": outcome}) or 0

    refused, applied = counted("refused"), counted("applied")
    swap(file, BAD)
    await until(lambda: reloader.problem)
    assert (counted("refused"), counted("applied")) == (refused + 1, applied)
    assert REGISTRY.get_sample_value("loadline_adapter_configuration_last_reload_successful") == 0
    swap(file, TWO)
    await until(lambda: reloader.generation == 2)
    assert (counted("refused"), counted("applied")) == (refused + 1, applied + 1)
    assert REGISTRY.get_sample_value("loadline_adapter_configuration_last_reload_successful") == 1


async def test_a_bad_file_is_logged_once(reloader, file, caplog):
    swap(file, BAD)
    await until(lambda: reloader.problem)
    for _ in range(3):
        reloader.reload_now()
        await asyncio.sleep(0)
    assert caplog.text.count("the previous configuration stays active") == 1


async def test_a_file_that_the_configuration_names_may_be_fixed_alone(reloader, file, caplog):
    reloader.activated.missing = "the token is not there"
    swap(file, TWO)
    await until(lambda: reloader.activated.tried >= 4)
    assert "the token is not there" in reloader.problem
    assert caplog.text.count("the previous configuration stays active") == 1
    reloader.activated.missing = ""
    await until(lambda: reloader.generation == 2)
    assert reloader.problem is None
    tried = reloader.activated.tried
    await reloader._check()
    assert reloader.activated.tried == tried


@pytest.mark.parametrize("content", ["", "\n"])
async def test_an_empty_file_is_taken_for_one_that_is_being_written(reloader, file, content):
    swap(file, content)
    await until(lambda: reloader.problem)
    assert "it is empty" in reloader.problem
    assert (reloader.generation, reloader.activated.queries) == (1, ["one"])


async def test_a_file_touched_without_a_change_is_not_applied_again(reloader, file):
    os.utime(file)
    await reloader._check()
    assert reloader.generation == 1


async def test_a_signal_does_not_wait_for_the_period(file):
    activated = Activated()
    patient = ConfigurationReloader(file, activated, poll_seconds=3_600)
    await patient.start()
    running = asyncio.create_task(patient.run())
    await asyncio.sleep(0)
    swap(file, TWO)
    patient.reload_now()
    await until(lambda: patient.generation == 2)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_bad_first_file_is_refused(file):
    swap(file, BAD)
    with pytest.raises(ConfigError, match="externalRules"):
        await ConfigurationReloader(file, Activated(), poll_seconds=1).start()


class WrittenMeanwhile(type(Path())):
    """A file that gets new content right after it is read for the first time."""

    def read_bytes(self) -> bytes:
        content = super().read_bytes()
        self._write()
        return content

    def read_text(self, *arguments: object, **more: object) -> str:
        content = super().read_text(*arguments, **more)
        self._write()
        return content

    def _write(self) -> None:
        if Path(self).read_bytes() == ONE.encode():
            swap(Path(self), TWO)


async def test_a_write_right_after_the_first_read_becomes_active(file):
    activated = Activated()
    reloader = ConfigurationReloader(WrittenMeanwhile(file), activated, poll_seconds=3_600)
    await reloader.start()
    await reloader._check()
    assert activated.queries[-1] == "two"


async def test_a_file_that_is_written_again_while_it_is_read_becomes_active(file):
    activated = Activated()
    reloader = ConfigurationReloader(file, activated, poll_seconds=3_600)
    await reloader.start()
    swap(file, TWO)
    checking = asyncio.create_task(reloader._check())
    await asyncio.sleep(0)  # it has read the file, and parses it in a thread
    swap(file, ONE.replace("one", "three"))
    await checking
    swap(file, TWO)
    await reloader._check()
    assert activated.queries[-1] == "two"
