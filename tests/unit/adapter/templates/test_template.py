"""Query templates: what is served, what is refused and where. The wide comparison with Go is in tests/conformance."""

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapter.promql.metric_query import QUERY_FIELDS
from adapter.templates import Record, TemplateExecutionError, TemplateSyntaxError, compiled
from wire.api.quoting import go_quote

ARGUMENT = Record(
    {
        "Series": "http_requests_total",
        "LabelMatchers": 'namespace="default"',
        "LabelValuesByName": {"pod": "web-0", "namespace": "default"},
        "GroupBy": "pod,container",
        "GroupBySlice": ("pod", "container"),
    }
)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        pytest.param(
            "sum(<<.Series>>{<<.LabelMatchers>>})",
            'sum(http_requests_total{namespace="default"})',
            id="fields",
        ),
        pytest.param('<<index .LabelValuesByName "pod">>', "web-0", id="a label's value"),
        pytest.param(
            "<<range $i, $l := .GroupBySlice>><<if $i>>,<<end>><<$l>><<end>>",
            "pod,container",
            id="a joined slice",
        ),
        pytest.param(
            "<<.GroupBySlice>> <<.LabelValuesByName>>",
            "[pod container] map[namespace:default pod:web-0]",
            id="bare slice and map",
        ),
        pytest.param("a <<- .Series ->> b", "ahttp_requests_totalb", id="trim markers"),
        pytest.param(
            '<<if eq .Series "up">>a<<else if .GroupBy>>b<<else>>c<<end>>', "b", id="else if"
        ),
        pytest.param(
            '<<with index .LabelValuesByName "none">>a<<else>>b<<end>>',
            "b",
            id="with an empty value",
        ),
        pytest.param(
            "<<.LabelValuesByName.none>>", "<no value>", id="a missing entry reached as a field"
        ),
        pytest.param(
            '<<$x := .GroupBy | printf "by (%s)">><<$x>>',
            "by (pod,container)",
            id="a pipeline into a variable",
        ),
        pytest.param("<</* why */ ->>  x", "x", id="a comment"),
        pytest.param("<<slice .GroupBySlice 1>>", "[container]", id="a part of a list"),
        pytest.param("<<slice .Series 5 13>>", "requests", id="a part of a text"),
        pytest.param("<<urlquery .LabelMatchers>>", "namespace%3D%22default%22", id="urlquery"),
    ],
)
def test_a_template_renders_as_go_renders_it(text, output):
    assert compiled(text).execute(ARGUMENT) == output


@pytest.mark.deviation("templates-outside-the-subset")
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("sum(<<.Series", "1:5: unclosed action", id="an open action"),
        pytest.param(
            "a\n  <<if .Series>>b", "2:5: <<if>> is never closed", id="an open block, on its line"
        ),
        pytest.param("<<end>>", "unexpected <<end>>", id="an end of nothing"),
        pytest.param(
            "<<upper .Series>>", "1:3: function 'upper' not defined", id="a function Go has not"
        ),
        pytest.param(
            '<<template "x">>', "1:3: <<template>> is not supported", id="named templates"
        ),
        pytest.param("<<$y>>", "1:3: undefined variable '$y'", id="an unknown variable"),
        pytest.param('<<"a>>', "1:3: unterminated quoted string", id="an open string"),
        pytest.param("<<break>>", "1:3: <<break>> outside <<range>>", id="a break outside a range"),
        pytest.param("<<(.Series>>", "1:11: unclosed left paren", id="an open parenthesis"),
        pytest.param(
            "<<" + "(" * 200 + "1" + ")" * 200 + ">>", "more than 100 levels", id="deep nesting"
        ),
    ],
)
def test_a_template_outside_the_subset_is_refused_with_its_position(text, complaint):
    with pytest.raises(TemplateSyntaxError) as refused:
        compiled(text)
    assert complaint in str(refused.value)


@pytest.mark.deviation("slices-of-characters")
@pytest.mark.parametrize(
    "text",
    [
        "<<.Foo>>",
        "<<.Series.Foo>>",
        "<<index .GroupBySlice 7>>",
        "<<len 3>>",
        '<<eq 1 "1">>',
        "<<range .Series>><<end>>",
        "<<index>>",
        '<<printf "%*d" 1 2>>',
        '<<printf "%99999d" 1>>',
        "<<call .Series>>",
        '<<slice "ü" 1>>',
    ],
)
def test_a_template_that_is_not_valid_for_its_argument_fails_when_it_is_used(text):
    with pytest.raises(TemplateExecutionError):
        compiled(text).execute(ARGUMENT)


@pytest.mark.deviation("unknown-template-fields")
@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        pytest.param("<<.Serie>>", ["Serie"], id="a field"),
        pytest.param(
            "<<if .Foo>><<$.Bar>><<end>>", ["Foo", "Bar"], id="in a condition and by way of $"
        ),
        pytest.param(
            "<<range .GroupBySlice>><<.Foo>><<end>>",
            [],
            id="behind a range the dot is something else",
        ),
        pytest.param('<<printf "%s" (index .Label "x")>>', ["Label"], id="inside parentheses"),
        pytest.param("<<.Series>><<.LabelValuesByName.x>>", [], id="known ones"),
    ],
)
def test_fields_that_cannot_exist_are_found_without_rendering(text, unknown):
    assert list(compiled(text).unknown_fields(QUERY_FIELDS)) == unknown


@given(st.text().filter(lambda text: "<<" not in text))
def test_text_without_actions_is_copied(text):
    assert compiled(text).execute(ARGUMENT) == text


pieces = st.sampled_from(
    [
        "<<",
        ">>",
        " ",
        "-",
        "/*",
        "*/",
        ".Series",
        "$x",
        ":=",
        "=",
        "|",
        "(",
        ")",
        '"',
        "`",
        "'a'",
        "if",
        "range",
        "end",
        "else",
        "1",
        "0x",
        ",",
        "len",
        "\n",
        "é",
        "\\",
    ]
)


@given(st.lists(pieces, max_size=12).map("".join))
@example("<<")
@example("<<- ")
def test_nonsense_is_refused_or_fails_and_never_breaks_anything(text):
    with contextlib.suppress(TemplateSyntaxError, TemplateExecutionError):
        compiled(text).execute(ARGUMENT)


@given(st.text())
def test_a_literal_and_a_quoted_value_mean_the_same_text(text):
    assert compiled("<<" + go_quote(text) + ">>").execute(ARGUMENT) == text


@given(st.lists(st.text(alphabet="abc", max_size=3), max_size=4).map(tuple))
def test_a_slice_prints_between_brackets_whatever_it_holds(words):
    argument = Record({"GroupBySlice": words})
    assert compiled("<<.GroupBySlice>>").execute(argument) == "[" + " ".join(words) + "]"
    assert compiled("<<range .GroupBySlice>><<.>>;<<end>>").execute(argument) == "".join(
        f"{word};" for word in words
    )


@given(st.lists(st.text(alphabet="abc", max_size=3), max_size=6).map(tuple), st.data())
def test_a_part_of_a_part_is_the_part_of_the_whole_and_may_reach_to_its_end(words, data):
    begin = data.draw(st.integers(0, len(words)))
    end = data.draw(st.integers(begin, len(words)))
    argument = Record({"Words": words, "Begin": begin, "End": end, "Capacity": len(words) - begin})
    inner = compiled("<<range slice .Words .Begin .End>><<.>>;<<end>>").execute(argument)
    assert inner == "".join(f"{word};" for word in words[begin:end])
    outer = compiled("<<range slice (slice .Words .Begin .End) 0 .Capacity>><<.>>;<<end>>")
    assert outer.execute(argument) == "".join(f"{word};" for word in words[begin:])
