"""`/debug/explain?path=...`: how a path of the metrics APIs is answered now, for users who may read that path.

Access to `/debug/explain` is checked before, as for every path. Access to the metric itself is checked here too, since
an explanation shows its values.
"""

from aiohttp import web

from adapter.diagnosis.explainer import Explainer
from wire.api.debug_paths import EXPLAIN
from wire.api.status import bad_request
from wire.serving.access_guard import USER
from wire.serving.attributes import attributes_of
from wire.serving.authorization import Authorizer
from wire.serving.rendering import respond
from wire.serving.request_path import split_url


def add_explain_route(app: web.Application, explainer: Explainer, authorizer: Authorizer) -> None:
    """Serve it; `authorizer` is the server's own."""

    async def explain(request: web.Request) -> web.Response:
        url = request.query.get("path", "")
        path, query = split_url(url)
        if not path.startswith("/apis/"):
            raise bad_request(
                "set the parameter path to the escaped path to explain, such as "
                "/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/pods/*/http_requests"
            )
        await authorizer.authorize(request[USER], attributes_of("GET", path, query))
        return respond(request, await explainer.explain(url))

    app.router.add_get(EXPLAIN, explain)
