"""A good new file comes into force, a bad one changes nothing and is told."""

import asyncio
import os

import pytest

from adapter.commands.reloading import ConfigurationWatch
from adapter.config import ConfigError, ConfigProblem
from testbed import waiting

ONE = "externalRules:\n- {seriesQuery: one, metricsQuery: 'sum(<<.Series>>)'}\n"
TWO = ONE.replace("one", "two")
BAD = "externalRules: 7\n"


class Applied:
    """Remembers what came into force; nothing does while a file that it names is `missing`."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.happened = asyncio.Event()
        self.missing = ""
        self.tried = 0

    async def __call__(self, configuration) -> None:
        self.tried += 1
        if self.missing:
            problem = ConfigProblem(
                path="backends[0]", line=0, problem=self.missing, fix="Mount it."
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
async def watch(file):
    applied = Applied()
    watch = ConfigurationWatch(file, applied, poll_seconds=0.01)
    watch.applied = applied
    await watch.start()
    applied.happened.clear()
    running = asyncio.create_task(watch.run())
    yield watch
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def until(condition) -> None:
    await asyncio.to_thread(waiting.until, condition, what="the watch", deadline_seconds=5)


async def test_a_swapped_configmap_comes_into_force(watch, file):
    swap(file, TWO)
    await asyncio.wait_for(watch.applied.happened.wait(), 5)
    await until(lambda: watch.generation == 2)
    assert watch.applied.queries == ["one", "two"]


async def test_a_bad_file_is_told_and_the_mended_one_comes_into_force(watch, file, caplog):
    swap(file, BAD)
    await until(lambda: watch.problem)
    assert (watch.generation, watch.applied.queries) == (1, ["one"])
    assert "the former configuration goes on serving" in caplog.text
    swap(file, TWO)
    await until(lambda: watch.generation == 2)
    assert watch.problem == ""
    assert watch.applied.queries == ["one", "two"]


async def test_a_bad_file_is_told_once(watch, file, caplog):
    swap(file, BAD)
    await until(lambda: watch.problem)
    for _ in range(3):
        watch.look_at_once()
        await asyncio.sleep(0)
    assert caplog.text.count("the former configuration goes on serving") == 1


async def test_what_the_file_names_may_be_mended_without_the_file(watch, file, caplog):
    watch.applied.missing = "the token is not there"
    swap(file, TWO)
    await until(lambda: watch.applied.tried >= 4)
    assert "the token is not there" in watch.problem
    assert caplog.text.count("the former configuration goes on serving") == 1
    watch.applied.missing = ""
    await until(lambda: watch.generation == 2)
    assert watch.problem == ""
    tried = watch.applied.tried
    await watch._look()
    assert watch.applied.tried == tried


@pytest.mark.parametrize("content", ["", "\n"])
async def test_an_empty_file_is_one_that_is_being_written(watch, file, content):
    swap(file, content)
    await until(lambda: watch.problem)
    assert "it is empty" in watch.problem
    assert (watch.generation, watch.applied.queries) == (1, ["one"])


async def test_a_file_touched_without_a_change_is_not_applied_again(watch, file):
    os.utime(file)
    await watch._look()
    assert watch.generation == 1


async def test_a_signal_is_not_kept_waiting(file):
    applied = Applied()
    patient = ConfigurationWatch(file, applied, poll_seconds=3_600)
    await patient.start()
    running = asyncio.create_task(patient.run())
    await asyncio.sleep(0)
    swap(file, TWO)
    patient.look_at_once()
    await until(lambda: patient.generation == 2)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_bad_first_file_is_not_served(file):
    swap(file, BAD)
    with pytest.raises(ConfigError, match="externalRules"):
        await ConfigurationWatch(file, Applied(), poll_seconds=1).start()
