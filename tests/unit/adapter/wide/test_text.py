"""A wide query is proven once for each text."""

import pytest

from adapter.model import BackendRef
from adapter.promql.metric_query import equals
from adapter.wide import text
from tests.traced_memory import traced_memory
from wire.api import labels
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


def of_dated_objects(template, *, dated):
    return text.wide_for_objects(
        template,
        series="load",
        selector=EVERYTHING,
        namespace=equals("namespace", "a"),
        object_label="pod",
        backend=BackendRef(),
        dated=dated,
    )


def of_dated_selector(template, *, dated):
    return text.wide_for_selector(
        template,
        series="load",
        selector=parse("queue=a"),
        namespace=equals("namespace", "a"),
        backend=BackendRef(),
        dated=dated,
    )


@pytest.mark.parametrize(
    ("wide", "template", "by"),
    [
        pytest.param(
            of_dated_objects,
            "max(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
            "pod,namespace",
            id="of objects",
        ),
        pytest.param(
            of_dated_selector,
            "max(<<.Series>>{<<.LabelMatchers>>}) by (queue)",
            "queue,namespace",
            id="of a selector, by its label",
        ),
        pytest.param(
            of_dated_selector,
            "max(<<.Series>>{<<.LabelMatchers>>})",
            "namespace,queue",
            id="of a selector",
        ),
    ],
)
def test_the_ages_of_samples_are_requested_by_the_same_labels(wide, template, by):
    found = wide(template, dated=True).query
    assert "".join(found.ages).startswith(f"max by ({by}) (")
    assert len(found.ages) == len(found.parts)
    assert wide(template, dated=False).query.ages == ()


def test_no_ages_are_needed_where_the_past_is_read_on_purpose():
    template = "max(<<.Series>>{<<.LabelMatchers>>} offset 5m) by (<<.GroupBy>>)"
    assert of_dated_objects(template, dated=True).query.ages == ()


def test_without_ages_for_each_row_there_is_no_wide_query():
    template = "max(<<.Series>>{<<.LabelMatchers>>}) by (code)"
    assert of_dated_selector(template, dated=False) is not None
    assert of_dated_selector(template, dated=True) is None


@pytest.mark.parametrize("wide", [of_objects, of_selector, of_named])
def test_a_changed_backend_has_its_own_wide_query_and_needs_no_new_proof(wide):
    former = wide(BackendRef("second", "former"))
    proven = len(text._proofs)
    changed = wide(BackendRef("second", "changed"))
    assert len(text._proofs) == proven
    assert (former.query.backend.source, changed.query.backend.source) == ("former", "changed")
    assert former.rows == changed.rows


OF_SELECTORS = [
    pytest.param(
        lambda selector: text.wide_for_objects(
            "max(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
            series="load",
            selector=selector,
            namespace=equals("namespace", "a"),
            object_label="pod",
            backend=BackendRef(),
        ),
        id="objects",
    ),
    pytest.param(
        lambda selector: text.wide_for_selector(
            "max(<<.Series>>{<<.LabelMatchers>>})",
            series="load",
            selector=selector,
            namespace=equals("namespace", "a"),
            backend=BackendRef(),
        ),
        id="selector",
    ),
    pytest.param(
        lambda selector: text.wide_for_named(
            "load", selector=selector, where=(), backend=BackendRef()
        ),
        id="named",
    ),
]


@pytest.mark.parametrize("wide", OF_SELECTORS)
def test_a_selector_with_many_requirements_has_no_wide_query(wide):
    """A proof for 2,000 takes a third of a second, and 0.4 MiB while it is kept."""
    few, many = (
        parse(",".join(f"l{number}=v" for number in range(count)))
        for count in (text.REQUIREMENTS_MAX, text.REQUIREMENTS_MAX + 1)
    )
    assert wide(few) is not None
    assert wide(many) is None


@pytest.mark.parametrize("wide", OF_SELECTORS)
def test_a_selector_with_long_values_has_no_wide_query(wide):
    """A proof for 10,000 values takes half a second, and 1 MB while it is kept."""
    short, long = (
        parse(f"tier=web,queue in ({','.join(f'queue-{number:04}' for number in range(count))})")
        for count in (90, 100)
    )
    assert wide(short) is not None
    assert wide(long) is None


def text_of(values, requirements=1):
    return ",".join(
        f"queue-{number} in ({','.join(values)})" if values else f"queue-{number}"
        for number in range(requirements)
    )


@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize(
    "template",
    [
        pytest.param("max(<<.Series>>{<<.LabelMatchers>>})", id="one selector"),
        pytest.param(
            " + ".join(["sum(rate(<<.Series>>{<<.LabelMatchers>>}[5m]))"] * 4), id="four selectors"
        ),
        pytest.param("<<.Series>><<if .LabelMatchers>>{}<<end>>", id="not proven"),
    ],
)
@pytest.mark.parametrize(
    "selector",
    [
        pytest.param("queue!=a", id="a value"),
        pytest.param(text_of((), 31), id="labels"),
        pytest.param(text_of([f"{number}" for number in range(100, 320)]), id="short values"),
        pytest.param(text_of(["v" * 63] * 4 + ["v" * 60, "w" * 63], 2), id="long values"),
    ],
)
def test_a_proof_takes_no_more_memory_than_is_counted(template, selector, dated):
    texts = [f"other-{number}!=a,{selector}" for number in range(50)]
    with traced_memory() as memory:
        kept = {}
        for each in texts:
            of = text._OfTemplate(
                template=template,
                series="load",
                selector=labels._read(each),
                equal=(),
                namespace_label="namespace",
                dated=dated,
            )
            kept[of] = text._Proof(of.proven())
        kept_bytes = memory.kept_bytes
    counted_bytes = sum(text._size_bytes(of, proof) for of, proof in kept.items())
    assert kept_bytes <= counted_bytes <= 4 * kept_bytes


@pytest.mark.parametrize("placeholder", [text._ANY_VALUE, text._ANY_NAMES, text._NAMESPACES])
def test_no_value_of_a_selector_is_taken_for_the_namespaces_of_a_wide_query(placeholder):
    """Its place in the text is found by this placeholder."""
    for operator in ("=", "!="):
        with pytest.raises(ValueError, match="unable to parse"):
            parse(f"tier{operator}{placeholder}")
    with pytest.raises(ValueError, match="unable to parse"):
        parse(f"tier in ({placeholder})")
