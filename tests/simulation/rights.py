"""Who may read the metrics of which namespace in the model: TokenReviews and SubjectAccessReviews as kube-apiserver answers them."""

import msgspec

from tests.simulation.cluster import Document
from tests.simulation.journal import Journal, RightsChanged
from tests.simulation.metrics_apis import GROUPS
from tests.simulation.network import Request, Response
from tests.simulation.timeline import Timeline

SCALER = "system:serviceaccount:kube-system:loadline-scaler"
VISITOR = "visitor"
TOKEN_REVIEWS, ACCESS_REVIEWS = "tokenreviews", "subjectaccessreviews"
REVIEWS = (TOKEN_REVIEWS, ACCESS_REVIEWS)
EVERYWHERE = "*"


class Rights:
    """The tokens, and what each user may do now."""

    def __init__(self, timeline: Timeline, journal: Journal) -> None:
        self._timeline = timeline
        self._journal = journal
        self._namespaces: dict[str, frozenset[str]] = {}
        self.users: dict[str, str] = {}
        """By token."""

    def grant(self, user: str, namespaces: frozenset[str]) -> None:
        """From now on the user may read the metrics of these namespaces, and of no other."""
        self._namespaces[user] = namespaces
        changed = RightsChanged(at=self._timeline.now, user=user, namespaces=namespaces)
        self._journal.rights.append(changed)

    def may_read(self, user: str, namespace: str) -> bool:
        """Whether the user may read the metrics of this namespace."""
        return not self._namespaces.get(user, frozenset()).isdisjoint((namespace, EVERYWHERE))

    def reviewed(self, request: Request) -> Response:
        """The answer to a review."""
        review = msgspec.json.decode(request.body)
        spec = review["spec"]
        if request.parts[-1] == TOKEN_REVIEWS:
            status = self._authenticated(spec)
        else:
            status = {"allowed": self._is_allowed(spec)}
        return Response(status=201, body=msgspec.json.encode({**review, "status": status}))

    def _authenticated(self, spec: Document) -> Document:
        user = self.users.get(spec["token"])
        if user is None:
            return {"authenticated": False, "error": "invalid bearer token"}
        return {
            "authenticated": True, "user": {"username": user}, "audiences": spec.get("audiences", []),
        }  # fmt: skip

    def _is_allowed(self, spec: Document) -> bool:
        of_resource = spec.get("resourceAttributes")
        if of_resource is None:
            return bool(self._namespaces.get(spec["user"]))
        return of_resource["group"] in GROUPS and self.may_read(
            spec["user"], of_resource.get("namespace", "")
        )
