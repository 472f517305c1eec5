"""The clocks of a simulated process for code that takes those of the `time` module.

The scaler takes its clock as an argument. The adapter passes none: its classes have `time.monotonic` as a default, and a few call
`time.time`. While `virtual_clocks` applies, both are those of the process whose code runs; outside of one they are the real ones.
"""

import contextlib
import inspect
import sys
import time
import types
from asyncio import events
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from tests.simulation.timeline import ProcessLoop
from wire.serving import listener

PACKAGES = ("adapter", "wire")


def monotonic() -> float:
    """The monotonic clock of the process that runs."""
    loop = events._get_running_loop()
    return loop.time() if isinstance(loop, ProcessLoop) else time.monotonic()


def now() -> float:
    """Its wall clock."""
    loop = events._get_running_loop()
    return loop.wall_time() if isinstance(loop, ProcessLoop) else time.time()


REPLACED: dict[object, Callable[[], float]] = {
    time.monotonic: monotonic,
    time.perf_counter: monotonic,
    time.time: now,
}


@contextlib.contextmanager
def virtual_clocks() -> Iterator[None]:
    """The clocks, and the place where a process listens, are those of its `ProcessLoop`."""
    with contextlib.ExitStack() as replaced:
        for module in _modules():
            if module.__dict__.get("time") is time:
                replaced.enter_context(mock.patch.object(module, "time", _time()))
            for function in _functions(module):
                defaults = function.__kwdefaults__ or {}
                virtual = {
                    name: REPLACED[value]
                    for name, value in defaults.items()
                    if inspect.isbuiltin(value) and value in REPLACED
                }
                if virtual:
                    replaced.enter_context(mock.patch.dict(defaults, virtual))
        replaced.enter_context(mock.patch.object(listener, "_listening", _listening))
        yield


def _time() -> types.SimpleNamespace:
    return types.SimpleNamespace(monotonic=monotonic, perf_counter=monotonic, time=now)


def _listening(*_: object, **__: object) -> Any:
    loop = events._get_running_loop()
    assert isinstance(loop, ProcessLoop)
    return loop.listen()


def _modules() -> list[types.ModuleType]:
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] in PACKAGES and module is not None
    ]


def _functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """Those of the module and of its classes."""
    for found in tuple(vars(module).values()):
        if isinstance(found, types.FunctionType) and found.__module__ == module.__name__:
            yield found
        elif isinstance(found, type) and found.__module__ == module.__name__:
            yield from (
                each for each in vars(found).values() if isinstance(each, types.FunctionType)
            )
