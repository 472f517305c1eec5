"""The real code does what the model of the protocol does, action by action, in behaviors that TLC has found.

Recorded by `python -m testbed.protocol_model.record`; see docs/testbed.md.
"""

import json
from pathlib import Path

import pytest

from testbed.vectors import lines
from tests.conformance.scaler_protocol.replay import Replay
from tests.fakes import virtual_time

FILES = ("traces.jsonl", "late_traces.jsonl")
TRACES = [
    pytest.param(json.loads(line), id=f"{file.partition('.')[0]} {number}")
    for file in FILES
    for number, line in enumerate(lines(Path(__file__).with_name(file)))
]


@pytest.mark.parametrize("trace", TRACES)
def test_the_real_code_does_what_the_model_does(trace):
    async def scenario():
        replay = Replay()
        try:
            for number, step in enumerate(trace):
                await replay.do(step)
                assert replay.state() == replay.expected(), f"after action {number}, {step['did']}"
        finally:
            await replay.ended()

    virtual_time.run(scenario())
