"""What the demo shows before a control plane is built."""

import re

import pytest

from testbed.demo import generated_day
from testbed.demo.preview import DIRECTORY, coming, missing_programs, replay


def test_the_generated_day_is_the_same_each_time_and_within_the_bounds():
    rows = list(generated_day.rows())
    assert rows == list(generated_day.rows())
    assert len(rows) == 1 + generated_day.MINUTES
    replicas = [int(row.split(",")[2]) for row in rows[1:]]
    assert min(replicas) >= generated_day.MIN_REPLICAS
    assert generated_day.MIN_REPLICAS < max(replicas) < generated_day.MAX_REPLICAS


def test_the_replay_reproduces_the_generated_replicas_and_draws_them(tmp_path, capsys):
    directory = tmp_path / DIRECTORY.name
    assert replay(directory) == 0
    output = capsys.readouterr().out
    fidelity = re.search(r"within 1 replica of what was recorded for ([\d.]+)%", output)
    assert fidelity
    assert float(fidelity[1]) > 99
    assert "WARNING" not in output
    assert re.search(r"^web-60 ", output, re.MULTILINE)
    assert (directory / "replicas.png").stat().st_size > 10_000


def test_what_must_be_built_is_listed_with_its_duration(monkeypatch, tmp_path):
    monkeypatch.setenv("LOADLINE_CACHE", str(tmp_path))
    missing = missing_programs(["helm", "etcd", "kubectl"])
    assert [each.name for each in missing] == ["etcd", "kubectl"]
    text = coming(missing)
    assert "compiles 2 programs: etcd, kubectl." in text
    assert re.search(r"about \d+ minutes", text)


@pytest.mark.parametrize("names", [[], ["helm"]])
def test_programs_that_come_in_a_wheel_are_not_built(names):
    assert missing_programs(names) == []
