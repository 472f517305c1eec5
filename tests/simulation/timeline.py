"""Virtual time for a whole world: its own events, and the event loops of the processes in it.

Computing takes no time. When no process can run, the clock jumps to the next event or timer. All
processes live in one thread, and everything happens in an order that only the seed decides.
"""

import asyncio
import functools
import heapq
import itertools
import socket
import sys
import time
from asyncio import events
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any, Protocol

from wire.api.meta import time_from_unix

EPOCH_UNIX_SECONDS = 1_700_000_000

# A process that runs this often without time going on is spinning.
STEPS_WITHOUT_TIME_MAX = 200_000
# How patiently a dead process is wound up.
WINDING_UP_CANCELS = 3
WINDING_UP_WAITS = 100


class Spinning(Exception):
    """Some process never waits."""


class Network(Protocol):
    """How a process reaches the world."""

    async def connect(
        self, loop: "ProcessLoop", protocol: asyncio.Protocol, port: int
    ) -> asyncio.Transport: ...


class Accepted(Protocol):
    """A connection that a process has accepted."""

    def open(self, loop: "ProcessLoop", protocol: asyncio.Protocol) -> asyncio.Transport:
        """Its end of it."""
        ...


class Listening:
    """What a process that listens has in place of a socket; `offer` makes a connection with it."""

    def __init__(self, loop: "ProcessLoop") -> None:
        self._loop = loop
        self._waiting: deque[tuple[Accepted, str]] = deque()
        self._accept: Callable[[], object] | None = None
        self._is_closed = False

    def offer(self, connection: Accepted, address: str) -> bool:
        """Whether the process accepts it, which it does when it runs next."""
        if self._is_closed or self._accept is None:
            return False
        self._waiting.append((connection, address))
        self._loop.call_soon(self._accept)
        return True

    def follow(self, accept: Callable[[], object] | None) -> None:
        """What the process does with a connection; None: nothing any more."""
        self._accept = accept

    def accept(self) -> tuple[Accepted, tuple[str, int]]:
        """The next connection. Raises `BlockingIOError`, as a socket does."""
        if not self._waiting:
            raise BlockingIOError
        connection, address = self._waiting.popleft()
        return connection, (address, 40_000)

    def getsockname(self) -> tuple[str, int]:
        """Any address."""
        return "127.0.0.1", 0

    def fileno(self) -> int:
        """Negative once it is closed."""
        return -1 if self._is_closed else 0

    def setsockopt(self, *_: object) -> None:
        """Nothing is buffered."""

    def setblocking(self, flag: bool) -> None:
        """`accept` never waits."""

    def close(self) -> None:
        """Nothing more is accepted."""
        self._is_closed = True


class Event:
    """Something that will happen in the world; `cancel` makes it not happen."""

    __slots__ = ("action", "arguments", "cancelled")

    def __init__(self, action: Callable[..., object], arguments: tuple[object, ...]) -> None:
        self.action = action
        self.arguments = arguments
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


@functools.lru_cache(maxsize=4096)
def _rfc3339(whole_unix_seconds: float) -> str:
    return time_from_unix(whole_unix_seconds).isoformat().replace("+00:00", "Z")


class Timeline:
    """The world's clock, in seconds since its beginning, and what will happen when."""

    def __init__(self, epoch_unix_seconds: int = EPOCH_UNIX_SECONDS) -> None:
        self.now = 0.0
        self.epoch_unix_seconds = epoch_unix_seconds
        self.loops: list[ProcessLoop] = []
        self._events: list[tuple[float, int, Event]] = []
        self._order = itertools.count()

    def timestamp(self, seconds: float) -> str:
        """RFC 3339, in whole seconds."""
        return _rfc3339((self.epoch_unix_seconds + seconds) // 1)

    def after(self, seconds: float, action: Callable[..., object], *arguments: object) -> Event:
        """Do it so much later."""
        return self.at(self.now + seconds, action, *arguments)

    def at(self, when: float, action: Callable[..., object], *arguments: object) -> Event:
        """Do it then, or at once if that is past."""
        event = Event(action, arguments)
        heapq.heappush(self._events, (max(when, self.now), next(self._order), event))
        return event

    def run_until(self, end: float) -> None:
        """Let time pass. Raises `Spinning`, and whatever an event of the world raises."""
        steps = 0
        while True:
            if self._step_processes():
                steps += 1
                if steps > STEPS_WITHOUT_TIME_MAX:
                    raise Spinning(f"a process never waits at {self.now:.3f} s")
                continue
            when = self._next()
            if when > end:
                self.now = max(self.now, end)
                return
            if when > self.now:
                self.now, steps = when, 0
            while self._events and self._events[0][0] <= self.now:
                event = heapq.heappop(self._events)[2]
                if not event.cancelled:
                    event.action(*event.arguments)

    def _step_processes(self) -> bool:
        ran = False
        for loop in self.loops:
            ran = loop.step() or ran
        return ran

    def _next(self) -> float:
        earliest = self._events[0][0] if self._events else float("inf")
        for loop in self.loops:
            earliest = min(earliest, loop.next_timer())
        return earliest


class ProcessLoop(asyncio.BaseEventLoop):
    """The event loop of one process: asyncio's own, with the timeline for a clock and no files.

    Its clock starts anywhere and may run a little fast or slow, as that of a real machine.
    """

    # What asyncio's loop has, whose types are not published.
    _ready: deque[asyncio.Handle]
    _check_closed: Callable[[], None]
    _asyncgen_firstiter_hook: Callable[[Any], None]
    _asyncgen_finalizer_hook: Callable[[Any], None]

    def __init__(
        self, timeline: Timeline, network: Network, *, starts_at: float = 0.0, rate: float = 1.0
    ) -> None:
        super().__init__()
        self._timeline = timeline
        self._network = network
        self._starts_at = starts_at
        self._rate = rate
        self._born = timeline.now
        self._ports: dict[socket.socket, int] = {}
        self.wall_time: Callable[[], float] = time.time
        """The wall clock of the machine, where the program takes none as an argument."""
        self.listening: Listening | None = None
        """Where the process accepts connections, if it does."""
        self.paused = False
        # With their times, which compare faster than asyncio's timers.
        self._timers: list[tuple[float, asyncio.TimerHandle]] = []
        self.signal_handlers: dict[int, Callable[[], object]] = {}
        self._hooks = (self._asyncgen_firstiter_hook, self._asyncgen_finalizer_hook)

    def time(self) -> float:
        """The monotonic clock of the machine that this process is on."""
        return self._starts_at + (self._timeline.now - self._born) * self._rate

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As asyncio's, without its debug mode."""
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asyncio's, without its debug mode."""
        self._check_closed()
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, timer))
        return timer

    def close(self) -> None:
        """Nothing is called any more."""
        super().close()
        self._timers.clear()

    def next_timer(self) -> float:
        """When this loop wants to run, in the world's time."""
        if self.paused:
            return float("inf")
        timers = self._timers
        while timers and timers[0][1]._cancelled:
            heapq.heappop(timers)
        if not timers:
            return float("inf")
        # A hair later, so that rounding never wakes the loop before its timer.
        return self._timeline.now + max(0.0, timers[0][0] - self.time()) / self._rate + 1e-9

    def step(self) -> bool:
        """Run what is ready once, as a turn of asyncio's loop does; False when nothing is."""
        if self.paused:
            return False
        timers, ready = self._timers, self._ready
        if timers:
            now = self.time()
            while timers and timers[0][0] <= now:
                timer = heapq.heappop(timers)[1]
                if not timer._cancelled:
                    ready.append(timer)
        if not ready:
            return False
        events._set_running_loop(self)
        outside = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(*self._hooks)
        try:
            for _ in range(len(ready)):
                handle = ready.popleft()
                if not handle._cancelled:
                    handle._run()
        finally:
            sys.set_asyncgen_hooks(*outside)
            events._set_running_loop(None)
        return True

    def wind_up(self) -> None:
        """The process is dead and cut off: let its tasks end, in a time of their own, and close."""
        self.paused = False
        # What a task raises that is cancelled again while it ends says nothing about the scaler.
        self.set_exception_handler(lambda *_: None)
        for _ in range(WINDING_UP_CANCELS):
            for task in asyncio.all_tasks(self):
                task.cancel()
            for _ in range(WINDING_UP_WAITS):
                while self.step():
                    pass
                wait = self.next_timer() - self._timeline.now
                if not asyncio.all_tasks(self) or wait == float("inf"):
                    break
                self._starts_at += wait * self._rate
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.close()

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """All the waiting is done in `create_connection`."""
        self._ports[sock] = address[1]

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.Protocol],
        *_: object,
        sock: socket.socket,
        **__: Any,
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """To the world, by the port. The real socket is only held until then."""
        port = self._ports.pop(sock)
        sock.close()
        protocol = protocol_factory()
        return await self._network.connect(self, protocol, port), protocol

    def listen(self) -> Listening:
        """What the process uses in place of a listening socket."""
        self.listening = Listening(self)
        return self.listening

    def add_reader(self, fd: Any, callback: Callable[..., object], *args: Any) -> None:  # type: ignore[override]
        """Only for what `listen` has made."""
        fd.follow(lambda: callback(*args))

    def remove_reader(self, fd: Any) -> bool:
        """Only for what `listen` has made."""
        fd.follow(None)
        return True

    async def connect_accepted_socket(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.Protocol], sock: Accepted, **_: Any
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Without a TLS handshake."""
        protocol = protocol_factory()
        return sock.open(self, protocol), protocol

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """At once: there is one thread, and computing takes no time."""
        computed: asyncio.Future[Any] = self.create_future()
        try:
            computed.set_result(func(*args))
        except Exception as error:
            computed.set_exception(error)
        return computed

    def add_signal_handler(  # type: ignore[override]
        self, sig: int, callback: Callable[..., object], *args: Any
    ) -> None:
        """Kept until the process gets this signal."""
        self.signal_handlers[sig] = lambda: callback(*args)

    def remove_signal_handler(self, sig: int) -> bool:
        """Forget it."""
        return self.signal_handlers.pop(sig, None) is not None

    def _write_to_self(self) -> None:
        """There is no other thread to be woken from."""
