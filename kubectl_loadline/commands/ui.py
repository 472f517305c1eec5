"""`kubectl loadline ui`: a page on this machine with every autoscaler of the cluster, under the user's own rights."""

import asyncio
import signal
import webbrowser
from argparse import Namespace
from collections.abc import Sequence
from contextlib import AsyncExitStack

from aiohttp import web

from kubectl_loadline.cluster.connecting import Unreachable, connected, ended
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_program_flag,
    add_verification_flag,
    cluster_of,
)
from kubectl_loadline.cluster.prometheus_url import add_prometheus_flag
from kubectl_loadline.page.address_file import address_file
from kubectl_loadline.page.autoscalers import watched
from kubectl_loadline.page.deciding import Deciding
from kubectl_loadline.page.guard import new_token
from kubectl_loadline.page.series import History
from kubectl_loadline.page.server import Page
from kubectl_loadline.terminal.exit_codes import OK
from scaler.runtime.clients import Clients
from wire.process.background_tasks import BackgroundTasks
from wire.process.command_line.parsing import FlagParser, port
from wire.process.event_loop import stop_requested

SHUTDOWN_SECONDS = 1.0


def main(arguments: Sequence[str]) -> int:
    """Serve until Ctrl-C, or until SIGTERM, which returns 0; returns 1 when something cannot be read, 2 when the command line is wrong."""
    given = parser().parse_args(arguments)
    return ended("ui", _serve(given))


async def _serve(given: Namespace) -> int:
    cluster = cluster_of(given)
    async with connected(cluster) as session, AsyncExitStack() as stack:
        clients = Clients.over(session.connection)
        stack.push_async_callback(clients.close)
        background = BackgroundTasks()
        stack.push_async_callback(background.stop)
        deciding = Deciding(
            session,
            cluster,
            clients,
            scaler=given.scaler,
            skips_verification=given.insecure_skip_tls_verify,
        )
        await deciding.start()
        autoscalers = await watched(clients.watches, session.namespace)
        async with session.progress.waiting_for("listing the autoscalers"):
            await autoscalers.start(background)
        # From now on the page waits, and not the user of the terminal.
        session.progress.end()
        history = History(
            session, autoscalers.collected, url=given.prometheus_url, adapter=given.program
        )
        stack.push_async_callback(history.close)
        token = new_token()
        runner = web.AppRunner(
            Page(token, autoscalers, deciding, history).application(),
            access_log=None,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        stack.push_async_callback(runner.cleanup)
        await runner.setup()
        # Ctrl-C cancels this command as every other one, also while the autoscalers are listed.
        terminated = stop_requested([signal.SIGTERM])
        address = f"http://127.0.0.1:{await _listen(runner, given.port)}/{token}/"
        where = f" in the namespace {autoscalers.namespace}" if autoscalers.namespace else ""
        print(
            f"{len(autoscalers.rows)} autoscalers{where}. Open this URL; press Ctrl-C to stop:",
            flush=True,
        )
        print(address, flush=True)
        if given.open:
            file = stack.enter_context(address_file(address))
            await asyncio.to_thread(webbrowser.open, file.as_uri())
        await terminated.wait()
    return OK


async def _listen(runner: web.AppRunner, number: int) -> int:
    try:
        await web.TCPSite(runner, "127.0.0.1", number).start()
    except OSError as error:
        raise Unreachable(
            f"cannot listen on 127.0.0.1:{number}: {error.strerror}: choose another --port"
        ) from error
    found: int = runner.addresses[0][1]
    return found


def parser() -> FlagParser:
    """The flags of `ui`."""
    parser = FlagParser(
        prog="kubectl loadline ui",
        description="Serve a page on 127.0.0.1 with every autoscaler that you may list: its desired replicas, why, what limits it, its "
        "recent history, and what it would decide with other values. Nothing is written.",
        examples=[
            ("Open the page in the browser", "kubectl loadline ui"),
            (
                "On a remote machine, behind ssh -L 8080:127.0.0.1:8080",
                "kubectl loadline ui --port=8080 --open=false",
            ),
        ],
        notes="The page uses the permissions of your kubeconfig: anyone who knows its URL, which contains a random token, can read "
        "what you can read. Without permission to list all namespaces, it shows the namespace of -n or of the context.",
    )
    parser.add_argument(
        "--port", type=port, default=0, metavar="PORT", help="port (default: a free port)"
    )
    parser.add_boolean("--open", default=True, help="open the page in the browser")
    parser.add_argument(
        "--scaler",
        default="",
        metavar="NAMESPACE/NAME",
        help="Deployment of the scaler (default: $LOADLINE_SCALER, or the one with the labels of the chart)",
    )
    add_prometheus_flag(parser)
    add_cluster_flags(parser)
    add_program_flag(parser, "adapter")
    add_verification_flag(parser)
    return parser
