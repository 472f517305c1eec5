"""`/healthz`, `/livez`, `/readyz`: named checks, in Kubernetes' text format.

Upstream: apiserver v0.36.3, server/healthz/healthz.go. The reason of a failed check is logged, and sent to
clients that may read it: these paths need no authorization, and a reason may name queries and servers.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator

from aiohttp import web

from wire.api.quoting import go_quote
from wire.process.readiness import Check

log = logging.getLogger(__name__)


QUERY_LENGTH_MAX = 4_096
"""Anyone may request these paths, and reading a long query stops the event loop."""
PING = Check("ping", lambda: None)


MayRead = Callable[[web.Request], Awaitable[bool]]
"""Whether the client of a request may read what is wrong."""


async def no_client(_: web.Request) -> bool:
    """Reasons are only logged."""
    return False


class Health:
    """The checks of the three paths; `/readyz/<check>` runs a single one."""

    def __init__(
        self,
        *,
        ready: Iterable[Check] = (),
        may_read: MayRead = no_client,
    ) -> None:
        """/readyz runs `ready` too (GenericAPIServer.AddReadyzChecks), /livez and /healthz do not.

        The chart of prometheus-adapter has a liveness probe for /healthz, which must not fail while Prometheus is away.
        """
        self._checks = {"livez": (PING,), "readyz": (PING, *ready), "healthz": (PING,)}
        self._may_read = may_read
        self._failing: dict[str, tuple[str, ...]] = {}

    def add_routes(self, app: web.Application) -> None:
        """Serve the three paths."""
        for name in self._checks:
            app.router.add_get(f"/{name}", self._whole(name))
            app.router.add_get(f"/{name}/", self._whole(name))
            app.router.add_get(f"/{name}/{{check}}", self._single(name))

    def paths(self) -> Iterator[str]:
        """The path of each single check."""
        return (
            f"/{name}/{check.name}" for name, checks in self._checks.items() for check in checks
        )

    def problems(self, name: str = "readyz") -> dict[str, str]:
        """What is wrong now, by check; the checks that only inform are left out."""
        return self._problems(name, {check.name for check in self._checks[name] if check.informs})

    def _whole(self, name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            if len(request.rel_url.raw_query_string) > QUERY_LENGTH_MAX:
                return _text(f"the query is longer than {QUERY_LENGTH_MAX} characters", code=414)
            excluded = set(request.query.getall("exclude", ()))
            problems = self._problems(name, excluded)
            shown = bool(problems) and await self._may_read(request)
            lines, failed = self._lines(name, excluded, problems, shown)
            self._log_changes(name, failed)
            unknown = sorted(excluded - {check.name for check in self._checks[name]})
            if unknown:
                listed = ", ".join(map(go_quote, unknown))
                lines.append(
                    f"warn: some health checks cannot be excluded: no matches for {listed}"
                )
            if failed:
                return _text("\n".join([*lines, f"{name} check failed\n"]), code=500)
            if "verbose" not in request.query:
                return _text("ok")
            return _text("\n".join([*lines, f"{name} check passed\n"]))

        return answer

    def _single(self, name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            for check in self._checks[name]:
                if check.name == request.match_info["check"]:
                    problem = _problem(check)
                    if not problem or check.informs:
                        return _text("ok")
                    shown = _shown(problem, await self._may_read(request))
                    return _text(f"internal server error: {shown}\n", code=500)
            raise web.HTTPNotFound

        return answer

    def _problems(self, name: str, excluded: set[str]) -> dict[str, str]:
        """What is wrong now, by check; also the checks that only inform."""
        found = (
            (check.name, _problem(check))
            for check in self._checks[name]
            if check.name not in excluded
        )
        return {check: problem for check, problem in found if problem}

    def _lines(
        self, name: str, excluded: set[str], problems: dict[str, str], shown: bool
    ) -> tuple[list[str], dict[str, str]]:
        lines: list[str] = []
        failed: dict[str, str] = {}
        for check in self._checks[name]:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok")
            elif not (problem := problems.get(check.name)):
                lines.append(f"[+]{check.name} ok")
            elif check.informs:
                lines.append(f"[!]{check.name}: {_shown(problem, shown)}")
            else:
                failed[check.name] = problem
                lines.append(f"[-]{check.name} failed: {_shown(problem, shown)}")
        return lines, failed

    def _log_changes(self, name: str, failed: dict[str, str]) -> None:
        """Probes come every few seconds, so only a change is logged."""
        now = tuple(failed)
        if now == self._failing.get(name, ()):
            return
        self._failing[name] = now
        if failed:
            log.warning(
                "%s is failing: %s",
                name,
                "; ".join(f"{check}: {why}" for check, why in failed.items()),
            )
        else:
            log.info("%s is passing again", name)


def _shown(problem: str, may_read: bool) -> str:
    return problem if may_read else "reason withheld"


def _problem(check: Check) -> str | None:
    try:
        return check.problem()
    except Exception as error:
        # A check that raises has failed.
        log.exception("check %s raised an exception", check.name)
        return str(error) or type(error).__name__


def _text(text: str, *, code: int = 200) -> web.Response:
    return web.Response(text=text, status=code, headers={"X-Content-Type-Options": "nosniff"})
