"""`/debug/explain?path=...`: how a path of the metrics APIs is answered now, for who may read that path.

The right on `/debug/explain` is checked before, as on every path. Here the right to the metric itself is checked as
well, since an explanation shows its values.
"""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from aiohttp import web

from adapter.diagnosis.explainer import Explainer
from wire.serving.attributes import attributes_of
from wire.serving.authorization import Authorizer
from wire.serving.guard import USER
from wire.serving.rendering import respond
from wire.status import bad_request

EXPLAIN: Final = "/debug/explain"

_MALFORMED_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def add_explain_route(app: web.Application, explainer: Explainer, authorizer: Authorizer) -> None:
    """Serve it; `authorizer` is the server's own."""

    async def explain(request: web.Request) -> web.Response:
        path = request.query.get("path", "")
        asked = urlsplit(path)
        if not asked.path.startswith("/apis/") or _MALFORMED_ESCAPE.search(asked.path):
            raise bad_request(
                "say what to explain: ?path= and, escaped, a path such as "
                "/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/pods/*/http_requests"
            )
        attributes = attributes_of("GET", unquote(asked.path), asked.query)
        await authorizer.authorize(request[USER], attributes)
        return respond(request, await explainer.explain(path))

    app.router.add_get(EXPLAIN, explain)
