"""`/debug/explain?path=...`: how a path of the metrics APIs is answered now, for users who may read that path.

Access to `/debug/explain` is checked before, as for every path. Access to the metric itself is checked here too, since
an explanation shows its values.
"""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from aiohttp import web

from adapter.diagnosis.explainer import Explainer
from wire.api.status import bad_request
from wire.serving.access_guard import USER
from wire.serving.attributes import attributes_of
from wire.serving.authorization import Authorizer
from wire.serving.rendering import respond

EXPLAIN: Final = "/debug/explain"

_MALFORMED_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def add_explain_route(app: web.Application, explainer: Explainer, authorizer: Authorizer) -> None:
    """Serve it; `authorizer` is the server's own."""

    async def explain(request: web.Request) -> web.Response:
        path = request.query.get("path", "")
        target = urlsplit(path)
        if not target.path.startswith("/apis/") or _MALFORMED_ESCAPE.search(target.path):
            raise bad_request(
                "set the parameter path to the escaped path to explain, such as "
                "/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/pods/*/http_requests"
            )
        attributes = attributes_of("GET", unquote(target.path), target.query)
        await authorizer.authorize(request[USER], attributes)
        return respond(request, await explainer.explain(path))

    app.router.add_get(EXPLAIN, explain)
