"""The files with which one soak continues another one, and with which `make test` repeats what has failed."""

import datetime

import msgspec
import pytest

from testbed.soak import progress, regressions
from testbed.soak.progress import Progress
from testbed.soak.regressions import Regression, newest, record, recorded
from testbed.soak.sources import SOURCES

SEED = Regression(
    source="simulation --shards",
    case="1000007",
    finding="one writer",
    date=datetime.date(2026, 3, 1),
    faults="0,3",
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "regressions.jsonl"


def test_nothing_is_recorded_at_first(path):
    assert recorded(path=path) == []


def test_a_recorded_regression_is_read_again(path):
    other = msgspec.structs.replace(SEED, case="1000008", faults=None)
    record(SEED, path)
    record(other, path)
    assert recorded(path=path) == [SEED, other]


def test_a_case_is_recorded_once(path):
    record(SEED, path)
    record(msgspec.structs.replace(SEED, finding="written once"), path)
    assert recorded(path=path) == [SEED]


def test_the_same_seed_of_another_source_is_another_case(path):
    record(SEED, path)
    record(msgspec.structs.replace(SEED, source="simulation"), path)
    assert len(recorded("simulation", path)) == 2
    assert recorded("simulation --shards", path) == [SEED]
    assert recorded("scaler", path) == []


def test_the_newest_of_each_finding_of_a_source_is_repeated():
    other_finding = msgspec.structs.replace(SEED, case="1000008", finding="written once")
    other_source = msgspec.structs.replace(SEED, source="simulation")
    later = msgspec.structs.replace(SEED, case="1000009")
    assert newest([SEED, other_finding, other_source, later]) == [
        later,
        other_finding,
        other_source,
    ]


def test_a_field_that_does_not_exist_is_an_error(path):
    path.write_text('{"source":"simulation","case":"1","finding":"x","date":"2026-03-01","sed":1}')
    with pytest.raises(msgspec.ValidationError, match="sed"):
        recorded(path=path)


def test_a_turn_that_has_ended_is_not_repeated(tmp_path):
    path = tmp_path / "progress.json"
    source = SOURCES[0]
    Progress(path).done(source, Progress(path).first(source))
    assert Progress(path).first(source) == source.first + source.numbers
    assert Progress(path).first(SOURCES[1]) == SOURCES[1].first


def test_what_is_recorded_in_the_repository_can_be_read_and_repeated():
    names = {each.name for each in SOURCES}
    assert {each.source for each in recorded()} <= names
    assert progress.RECORDED.parent == regressions.RECORDED.parent
    Progress()


def test_the_names_of_sources_are_unique():
    assert len({each.name for each in SOURCES}) == len(SOURCES)
