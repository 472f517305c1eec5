"""A wide query is proven once for each text."""

import pytest

from adapter.model import BackendRef
from adapter.promql.metric_query import equals
from adapter.wide import text
from wire.api.labels import EVERYTHING, parse


def of_objects(backend):
    return text.wide_for_objects(
        "max(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
        series="proven_once",
        selector=EVERYTHING,
        namespace=equals("namespace", "a"),
        object_label="pod",
        backend=backend,
    )


def of_selector(backend):
    return text.wide_for_selector(
        "max(<<.Series>>{<<.LabelMatchers>>})",
        series="proven_once",
        selector=parse("queue=a"),
        namespace=equals("namespace", "a"),
        backend=backend,
    )


def of_named(backend):
    return text.wide_for_named(
        "max(proven_once) by (queue)", selector=parse("queue=a"), where=(), backend=backend
    )


@pytest.mark.parametrize("wide", [of_objects, of_selector, of_named])
def test_a_changed_backend_has_its_own_wide_query_and_needs_no_new_proof(wide):
    def proofs():
        kept = (text._wide_query.cache_info(), text._wide_named_query.cache_info())
        return sum(each.misses for each in kept)

    former = wide(BackendRef("second", "former"))
    proven = proofs()
    changed = wide(BackendRef("second", "changed"))
    assert proofs() == proven
    assert (former.query.backend.source, changed.query.backend.source) == ("former", "changed")
    assert former.rows == changed.rows
