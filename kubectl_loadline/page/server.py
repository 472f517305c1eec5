"""The routes of the page. Whole pages work without JavaScript, except for the charts; htmx replaces parts of them."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web

from kubectl_loadline.cluster.autoscaler_name import KINDS, short_name
from kubectl_loadline.colours import stylesheet
from kubectl_loadline.libraries import require
from kubectl_loadline.page.autoscalers import Autoscalers
from kubectl_loadline.page.deciding import Deciding
from kubectl_loadline.page.events import Mark, marks
from kubectl_loadline.page.explanations import EXPLANATIONS
from kubectl_loadline.page.guard import guard
from kubectl_loadline.page.selection import ORDERS, SHOWS, selection_of, shown
from kubectl_loadline.page.series import History
from kubectl_loadline.page.sliders import sliders
from kubectl_loadline.page.verdict import verdict
from kubectl_loadline.status.row import LIMITS, Row
from scaler.algorithm.why import bytes_text
from scaler.api.autoscaler import Autoscaler, metrics_of
from scaler.api.kinds import WatchedKind
from scaler.extensions import EXTENSIONS
from wire.api import kube_json
from wire.api.quantity import format_milli
from wire.api.status import StatusError, Unavailable

HERE: Final = Path(__file__).parent
# A slider has fractions of a thousandth.
_AMOUNT: Final = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")
HOURS: Final = (1, 6, 24, 168)
KIND_OF: Final[Mapping[str, WatchedKind]] = {short_name(kind): kind for kind in KINDS}


class Page:
    """The handlers."""

    def __init__(
        self, token: str, autoscalers: Autoscalers, deciding: Deciding, history: History
    ) -> None:
        """Raises `MissingLibrary` without Jinja2."""
        self._root = f"/{token}"
        self._autoscalers = autoscalers
        self._deciding = deciding
        self._history = history
        jinja2 = require("jinja2")
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(amount=amount, about=about, ago=ago)
        self._templates.globals.update(
            root=self._root,
            explanations=EXPLANATIONS,
            limits=LIMITS,
            orders=tuple(ORDERS),
            shows=SHOWS,
        )

    def application(self) -> web.Application:
        """With every route below the token."""
        app = web.Application(middlewares=[guard(self._root[1:])])
        one = f"{self._root}/{{kind:la|hpa}}/{{namespace}}/{{name}}"
        app.router.add_get(f"{self._root}/", self.listed)
        app.router.add_get(f"{self._root}/last-hours", self.last_hours)
        app.router.add_get(f"{self._root}/colours.css", self.colours)
        app.router.add_get(one, self.one)
        app.router.add_get(f"{one}/decision", self.decision)
        app.router.add_get(f"{one}/what-if", self.what_if)
        app.router.add_get(f"{one}/series", self.series)
        app.router.add_static(f"{self._root}/static", HERE / "static")
        return app

    async def listed(self, request: web.Request) -> web.Response:
        """All autoscalers, filtered and page by page; only the table for htmx."""
        selection = selection_of(request.query)
        return self._rendered(
            "table.html" if _is_part(request) else "list.html",
            shown=shown(self._autoscalers.rows, selection, time.time()),
            selection=selection,
            now=time.time(),
            namespace=self._autoscalers.namespace,
            problem=self._autoscalers.problem,
        )

    async def last_hours(self, request: web.Request) -> web.Response:
        """The current replicas in the last hour, of the rows that the table with this query shows."""
        selection = selection_of(request.query)
        rows = shown(self._autoscalers.rows, selection, time.time()).rows
        return _json(await self._history.last_hours(rows))

    async def colours(self, _: web.Request) -> web.Response:
        """Those of everything that is drawn."""
        return web.Response(text=stylesheet(), content_type="text/css")

    async def one(self, request: web.Request) -> web.Response:
        """One autoscaler. What takes longer to read is requested by the page itself."""
        return self._rendered("one.html", row=self._row(request), hours=HOURS)

    async def decision(self, request: web.Request) -> web.Response:
        """The last decision, and a slider for each metric."""
        row = self._row(request)
        kind = KIND_OF[row.kind]
        try:
            autoscaler = kube_json.decode(await self._deciding.object(kind, row), Autoscaler)
            found = await self._deciding.explained(kind, row)
        except (StatusError, Unavailable, ValueError) as error:
            return self._rendered("undecided.html", row=row, problem=str(error))
        return self._rendered(
            "decision.html",
            row=row,
            is_part=_is_part(request),
            source=found.source,
            verdict=verdict(found.derivation, autoscaler, EXTENSIONS, time.time()),
            sliders=sliders(metrics_of(autoscaler.spec), found.derivation),
        )

    async def what_if(self, request: web.Request) -> web.Response:
        """What would be decided with the values of the sliders, by the functions of the scaler."""
        row = self._row(request)
        try:
            decision = await self._deciding.simulated(
                KIND_OF[row.kind], row, values_of(request.query), _replicas(request.query)
            )
        except (StatusError, Unavailable, ValueError) as error:
            return self._rendered("problem.html", problem=str(error))
        found = verdict(decision.derivation, decision.autoscaler, EXTENSIONS, time.time())
        return self._rendered("what_if.html", verdict=found)

    async def series(self, request: web.Request) -> web.Response:
        """The last hours, for the chart."""
        row = self._row(request)
        given = request.query.get("hours", "")
        hours = int(given) if given.isdecimal() and int(given) in HOURS else HOURS[0]
        kind = KIND_OF[row.kind]
        try:
            body = await self._deciding.object(kind, row)
        except (StatusError, Unavailable) as error:
            raise web.HTTPBadGateway(reason=" ".join(str(error).split())) from error
        chart = await self._history.chart(kind, row, body, hours)
        events, problem = await self._events(kind, row, chart.start, chart.end)
        basis = f"{chart.basis} {problem}".rstrip()
        return _json(msgspec.structs.replace(chart, events=events, basis=basis))

    async def _events(
        self, kind: WatchedKind, row: Row, start: float, end: float
    ) -> tuple[tuple[Mark, ...], str]:
        """Those of this time; or none, and why they are missing."""
        try:
            return marks(await self._deciding.events(kind, row), start=start, end=end), ""
        except (StatusError, Unavailable, ValueError) as error:
            return (), f"Its events cannot be listed: {str(error).rstrip('.')}."

    def _row(self, request: web.Request) -> Row:
        key = "{kind}/{namespace}/{name}".format(**request.match_info)
        row = self._autoscalers.row(key)
        if row is None:
            raise web.HTTPNotFound(reason="There is no such autoscaler. It may have been deleted.")
        return row

    def _rendered(self, template: str, **values: Any) -> web.Response:
        text = self._templates.get_template(template).render(values)
        return web.Response(text=text, content_type="text/html")


def values_of(query: Mapping[str, str]) -> dict[str, str]:
    """`value.NAME=1500` (thousandths) to the values of `simulate`; `fails.NAME=1` counts instead of a value."""
    values = {
        name.removeprefix("value."): f"{round(float(text))}m"
        for name, text in query.items()
        if name.startswith("value.") and _AMOUNT.fullmatch(text)
    }
    failing = [name.removeprefix("fails.") for name in query if name.startswith("fails.")]
    return values | dict.fromkeys(failing, "fails")


def amount(value_milli: int | None, is_in_bytes: bool = False) -> str:
    """Bytes with a suffix of memory; else a decimal number where it is exact and short, or a quantity."""
    if value_milli is None:
        return "unknown"
    if is_in_bytes:
        return bytes_text(value_milli / 1000)
    return f"{value_milli / 1000:g}" if abs(value_milli) < 10**9 else format_milli(value_milli)


def about(value_milli: int, is_in_bytes: bool = False) -> str:
    """An amount of three digits."""
    digits = max(0, len(str(abs(value_milli))) - 3)
    return amount(round(value_milli, -digits), is_in_bytes)


def ago(seconds: float) -> str:
    """`40 s ago`, `12 min ago`, `3 h ago`, `5 d ago`."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit} ago"
    return f"{max(0.0, seconds):.0f} s ago"


def _json(document: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(document), content_type="application/json")


def _replicas(query: Mapping[str, str]) -> int | None:
    text = query.get("replicas", "")
    return int(text[:6]) if text.isdecimal() else None


def _is_part(request: web.Request) -> bool:
    """Whether htmx replaces a part, and does not restore a whole page from the history."""
    headers = request.headers
    return "HX-Request" in headers and "HX-History-Restore-Request" not in headers
