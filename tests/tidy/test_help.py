"""The help of every command."""

import argparse

import pytest

from adapter.__main__ import PROGRAM as ADAPTER
from kubectl_loadline.program import PROGRAM as PLUGIN
from scaler.__main__ import PROGRAM as SCALER
from wire.process.command_line.parsing import FlagParser

COMMANDS = {
    f"{program.name} {command.name}": command
    for program in (ADAPTER, SCALER, PLUGIN)
    for command in (program.default, *program.commands)
}


def parsers(parser: FlagParser) -> list[argparse.ArgumentParser]:
    """This one and those of its subcommands."""
    found: list[argparse.ArgumentParser] = [parser]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += action.choices.values()
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_percent_sign_in_a_help_text_is_not_replaced_by_the_attributes_of_its_flag(name):
    for parser in parsers(COMMANDS[name].load().parser()):
        assert "option_strings" not in parser.format_help()
