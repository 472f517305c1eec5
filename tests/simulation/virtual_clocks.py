"""The clocks and the sockets of a simulated process, for code that takes those of the standard library.

The scaler takes its clock as an argument. The adapter is given none: its classes have `time.monotonic` as a default, a few functions
call `time.time`, and its listener makes a socket. While `virtual_clocks` applies, these are those of the process whose code runs, and
outside of one the real ones.
"""

import contextlib
import socket
import sys
import time
import types
from asyncio import events
from collections.abc import Callable, Iterator
from typing import Any

from tests.simulation.timeline import ProcessLoop

PACKAGES = ("adapter", "wire")
REAL_MONOTONIC, REAL_TIME, REAL_PERF_COUNTER = time.monotonic, time.time, time.perf_counter
REAL_CREATE_SERVER = socket.create_server


def monotonic() -> float:
    """The monotonic clock of the process that runs."""
    loop = events._get_running_loop()
    return loop.time() if isinstance(loop, ProcessLoop) else REAL_MONOTONIC()


def now() -> float:
    """Its wall clock."""
    loop = events._get_running_loop()
    return loop.wall_time() if isinstance(loop, ProcessLoop) else REAL_TIME()


def create_server(*arguments: Any, **options: Any) -> Any:
    """Where it listens."""
    loop = events._get_running_loop()
    if isinstance(loop, ProcessLoop):
        return loop.listen()
    return REAL_CREATE_SERVER(*arguments, **options)


DEFAULTS: dict[object, Callable[[], float]] = {REAL_MONOTONIC: monotonic, REAL_TIME: now}


@contextlib.contextmanager
def virtual_clocks() -> Iterator[None]:
    """Until it ends, a process has its own clocks and sockets."""
    replaced = [each for module in _modules() for each in _defaults(module)]
    time.monotonic, time.perf_counter, time.time = monotonic, monotonic, now
    socket.create_server = create_server
    for defaults, name in replaced:
        defaults[name] = DEFAULTS[defaults[name]]
    try:
        yield
    finally:
        time.monotonic, time.perf_counter = REAL_MONOTONIC, REAL_PERF_COUNTER
        time.time = REAL_TIME
        socket.create_server = REAL_CREATE_SERVER
        real = {virtual: of for of, virtual in DEFAULTS.items()}
        for defaults, name in replaced:
            defaults[name] = real[defaults[name]]


def _modules() -> list[types.ModuleType]:
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] in PACKAGES and module is not None
    ]


def _defaults(module: types.ModuleType) -> Iterator[tuple[dict[str, Any], str]]:
    """The arguments of its functions that have a clock of the standard library as default."""
    for function in _functions(module):
        defaults = function.__kwdefaults__ or {}
        for name, value in defaults.items():
            if isinstance(value, types.BuiltinFunctionType) and value in DEFAULTS:
                yield defaults, name


def _functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """Those of the module and of its classes."""
    for found in tuple(vars(module).values()):
        if isinstance(found, types.FunctionType) and found.__module__ == module.__name__:
            yield found
        elif isinstance(found, type) and found.__module__ == module.__name__:
            yield from (
                each for each in vars(found).values() if isinstance(each, types.FunctionType)
            )
