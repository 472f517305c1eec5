"""`loadline-adapter migrate`: a sentence for each cause for which rules are kept, and the exit code."""

from pathlib import Path

import pytest

from adapter.commands.migrate import exit_code, new_configuration, sentences
from adapter.config import parse
from adapter.diagnosis.rule_migration import NO_SERIES, MigratedMetric, MigratedRule, RuleMigration
from tests.fakes.adapter import FakeMapping, FakePrometheus

EXTERNAL = "\n".join(
    f"- {{seriesQuery: s{each}, metricsQuery: '<<.Series>>{{<<.LabelMatchers>>}}'}}"
    for each in range(7)
)
REPLACED = MigratedRule(
    path="rules[0]",
    metrics=(MigratedMetric(block={"name": "load", "describes": "pods"}, compared=1),),
)
REASON = "only rules of custom metrics are replaced"
UNTESTED = MigratedRule(path="rules[1]", problem=NO_SERIES)
FILE = Path("config.yaml")
CHECKED = "Prometheus has no series for it; loadline-adapter check config.yaml says why"


async def external_rules(text: str = EXTERNAL) -> tuple[MigratedRule, ...]:
    migration = RuleMigration(FakePrometheus({}), FakeMapping())
    return await migration.rules(parse(f"externalRules:\n{text}"))


async def test_rules_that_are_kept_for_one_reason_have_one_sentence_with_what_to_do():
    kept = await external_rules()
    assert list(sentences((REPLACED, UNTESTED, *kept), FILE)) == [
        "rules[0] is replaced by load of pods: the values of 1 object are equal",
        f"rules[1] is kept: {CHECKED}",
        f"{', '.join(f'externalRules[{each}]' for each in range(5))} and 2 more are kept: {REASON}. They work unchanged; nothing has to be done",
    ]
    assert list(sentences(kept[:1], FILE)) == [
        f"externalRules[0] is kept: {REASON}. It works unchanged; nothing has to be done"
    ]


@pytest.mark.parametrize(
    ("rules", "code"), [((REPLACED,), 0), ((REPLACED, UNTESTED), 1)], ids=["none", "no series"]
)
async def test_rules_that_stay_for_good_do_not_change_the_exit_code(rules, code):
    kept = await external_rules()
    assert exit_code(rules) == code
    assert exit_code((*rules, *kept)) == code


def test_each_rule_with_something_to_fix_has_its_own_sentence():
    rules = [MigratedRule(path=f"rules[{each}]", problem=NO_SERIES) for each in range(2)]
    assert list(sentences(rules, FILE)) == [
        f"rules[0] is kept: {CHECKED}",
        f"rules[1] is kept: {CHECKED}",
    ]


async def test_what_is_kept_stays_in_the_configuration():
    kept = await external_rules()
    original = {"rules": ["first", "second"], "externalRules": ["external"]}
    assert new_configuration(original, (REPLACED, UNTESTED, *kept)) == {
        "rules": ["second"],
        "externalRules": ["external"],
        "metrics": [{"name": "load", "describes": "pods"}],
    }
