"""What the Dockerfile says, by stage and instruction."""

import pytest

from testbed.image.dockerfile import Copy, Instruction, copied, stages, variables

TEXT = """\
# A comment.
ARG BASE=python:3.11
FROM ${BASE} AS build
RUN first \\
# Between two lines of one instruction.
 && second

FROM ${BASE}
COPY --from=build /a /b
"""


def test_a_stage_has_the_instructions_up_to_the_next_one():
    build, last = stages(TEXT)
    assert (build.name, last.name) == ("build", "")
    assert [each.word for each in build.instructions] == ["RUN"]
    assert last.instructions == (Instruction("COPY", "--from=build /a /b"),)


def test_an_instruction_on_several_lines_is_one_command_without_its_comments():
    (run,) = stages(TEXT)[0].instructions
    assert run.arguments.split() == ["first", "&&", "second"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param("a b ./", Copy("", ("a", "b"), "./"), id="files of the context"),
        pytest.param("--from=build /a /b", Copy("build", ("/a",), "/b"), id="of a stage"),
    ],
)
def test_a_copy_has_a_stage_sources_and_a_destination(arguments, expected):
    assert copied(Instruction("COPY", arguments)) == expected


def test_variables_are_set_from_those_before_them():
    env = Instruction("ENV", "PATH=/opt/bin:$PATH EMPTY= QUOTED='a b'")
    assert variables(env, {"PATH": "/bin"}) == {
        "PATH": "/opt/bin:/bin",
        "EMPTY": "",
        "QUOTED": "a b",
    }
