"""A real Chromium without a window, controlled by the Chrome DevTools Protocol.

Any Chromium or Chrome will do: it is found on the PATH, or named by $CHROMIUM. It is not part of the pinned set-up.
"""

import asyncio
import base64
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

from testbed.processes import Process, start
from testbed.waiting import until

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
START_SECONDS: Final = 60.0
COMMAND_SECONDS: Final = 60.0


class ChromiumMissing(Exception):
    """There is no Chromium on this machine."""


class ScriptFailed(Exception):
    """A script of a test raised in the page."""


def find() -> str:
    """The path of a Chromium. Raises `ChromiumMissing`."""
    for name in (os.environ.get("CHROMIUM", ""), *NAMES):
        if name and (path := shutil.which(name)):
            return path
    raise ChromiumMissing(
        "install chromium, for example `apt-get install chromium`, or set $CHROMIUM"
    )


class Chromium:
    """`async with Chromium() as page: await page.open(url)`: one tab of one browser."""

    def __init__(self, *, width: int = 1280, height: int = 900) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="loadline-chromium-"))
        self._size = (width, height)
        self._process: Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._reader: asyncio.Task[None] | None = None
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._loaded = asyncio.Event()
        self.console: list[str] = []
        """Errors and violations of the Content-Security-Policy that the page reported."""

    async def open(self, url: str) -> None:
        """Navigate, and wait for the load event."""
        self._loaded.clear()
        await self.send("Page.navigate", url=url)
        async with asyncio.timeout(COMMAND_SECONDS):
            await self._loaded.wait()

    async def evaluate(self, script: str) -> Any:
        """The value of an expression, or of the promise that it is. Raises `ScriptFailed`."""
        answer = await self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise ScriptFailed(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    async def wait_for(self, condition: str, *, seconds: float = 20.0) -> None:
        """Wait until an expression is true, checked in every frame of the page."""
        script = (
            f"new Promise((done, failed) => {{ const end = performance.now() + {seconds * 1000};"
            f"(function check() {{ if ({condition}) done(true); else if (performance.now() > end) failed(new Error('waited'));"
            "else requestAnimationFrame(check); })(); })"
        )
        await self.evaluate(script)

    async def press(self, key: str, *, code: int, text: str = "") -> None:
        """Press and release a key, as a keyboard does."""
        key_event = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        await self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **key_event)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **key_event)

    async def picture(self, path: Path) -> None:
        """Save what is visible as PNG."""
        answer = await self.send("Page.captureScreenshot", format="png")
        await asyncio.to_thread(path.write_bytes, base64.b64decode(answer["data"]))

    async def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol; returns its result."""
        if self._socket is None:
            raise ScriptFailed("Chromium is not started")
        number = len(self._answers) + 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(COMMAND_SECONDS):
            return await answer

    async def __aenter__(self) -> Self:
        width, height = self._size
        flags = [
            "--headless=new",
            "--remote-debugging-port=0",
            f"--user-data-dir={self._directory}",
            f"--window-size={width},{height}",
            "--no-sandbox",  # a container has no user namespaces; only the page under test is opened
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--force-device-scale-factor=1",
        ]
        log = self._directory / "chromium.log"
        self._process = start("chromium", [find(), *flags, "about:blank"], log_path=log)
        port_file = self._directory / "DevToolsActivePort"
        await asyncio.to_thread(
            # It is created before its content is written.
            until,
            lambda: port_file.is_file() and "\n" in port_file.read_text(),
            what="Chromium",
            deadline_seconds=START_SECONDS,
        )
        port = port_file.read_text().splitlines()[0]
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://127.0.0.1:{port}/json/list") as response:
            targets = await response.json()
        [tab] = [each for each in targets if each["type"] == "page"]
        self._socket = await self._session.ws_connect(
            tab["webSocketDebuggerUrl"], max_msg_size=2**27
        )
        self._reader = asyncio.create_task(self._read(self._socket))
        for domain in ("Page", "Runtime", "Log"):
            await self.send(f"{domain}.enable")
        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._socket is not None:
            await self._socket.close()
        if self._reader is not None:
            await asyncio.wait({self._reader})
        if self._session is not None:
            await self._session.close()
        if self._process is not None:
            self._process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            answer = message.json()
            if "id" in answer:
                self._answers[answer["id"]].set_result(answer.get("result", answer))
            elif answer["method"] == "Page.loadEventFired":
                self._loaded.set()
            elif answer["method"] in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.console.append(str(answer["params"]))
