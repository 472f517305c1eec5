"""Scenarios with additional fields are valid."""

from tests.simulation.field_scenarios import with_fields

# Its fields are a formula, zero and a candidate.
WITH_ALL_THREE = 9100211


def test_a_candidate_is_not_combined_with_fields_that_belong_to_both_policies() -> None:
    seeds = (*range(100), WITH_ALL_THREE)
    plans = [each for seed in seeds for each in with_fields(seed).autoscalers]
    fields = [each.fields for each in plans if each.fields.has_candidate]
    assert fields
    assert not any(each.is_formula or each.decides_on_activity or each.fallback for each in fields)
