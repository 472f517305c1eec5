"""The mutations written by hand fit the sources as they are now."""

import ast
from pathlib import Path

import pytest

import scaler
from testbed.oracle.scaler.mutations import MUTATIONS, Mutation

SCALER = Path(scaler.__file__).parent
EACH = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: f"{each.path}: {each.old}")


@EACH
def test_what_a_mutation_replaces_occurs_exactly_once(mutation: Mutation):
    assert (SCALER / mutation.path).read_text().count(mutation.old) == 1


@EACH
def test_a_mutation_leaves_another_program_that_can_be_read(mutation: Mutation):
    source = (SCALER / mutation.path).read_text()
    mutated = source.replace(mutation.old, mutation.new)
    assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(source))
