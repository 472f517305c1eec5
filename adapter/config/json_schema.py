"""The JSON Schema (draft-07) of the configuration file, for editors. What only the reader can check is not in it: regular
expressions, templates, PromQL, references between rules.
"""

from typing import Any, Final

Schema = dict[str, Any]

# Like prometheus-adapter, the reader accepts every scalar as a text, and null as the default.
_TEXT: Final[Schema] = {"type": ["string", "number", "boolean", "null"]}
_REQUIRED: Final[Schema] = {"type": ["string", "number", "boolean"], "pattern": "."}
_BOOLEAN: Final[Schema] = {
    "anyOf": [
        {"type": ["boolean", "null"]},
        {"type": "string", "pattern": "^([Tt]rue|[Ff]alse|[Yy]es|[Nn]o|[Oo]n|[Oo]ff|[YyNn])$"},
    ]
}
_DURATION: Final[Schema] = {
    "type": ["string", "null"],
    "pattern": "^(?=.*[1-9])([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$",
}
_GO_DURATION: Final[Schema] = {
    "type": ["string", "null"],
    "pattern": "^(?=.*[1-9])([0-9]*[.]?[0-9]*(h|m|s|ms|us|µs|ns))+$",
}
_POSITIVE: Final[Schema] = {
    "anyOf": [
        {"type": ["integer", "null"], "minimum": 1},
        {"type": "string", "pattern": "^[0-9]+$"},
    ]
}


def _described(schema: Schema, description: str) -> Schema:
    return {"description": description, **schema}


def _mapping(fields: dict[str, Schema], **more: Any) -> Schema:
    return {
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": fields,
        **more,
    }


def _entries(fields: dict[str, Schema], *, required: tuple[str, ...] = (), **more: Any) -> Schema:
    entry = _mapping(fields, required=list(required), **more) | {"type": "object"}
    return {"type": ["array", "null"], "items": entry}


def _choice(*words: str) -> Schema:
    return {"enum": [*words, None]}


_RESOURCES: Final = _mapping(
    {
        "template": _described(
            _TEXT, "Label name for each resource, such as <<.Resource>> or kube_<<.Group>>_<<.Resource>>."
        ),
        "overrides": {
            "description": "Labels by name, and the resource whose objects they name.",
            "type": ["object", "null"],
            "additionalProperties": _mapping(
                {
                    "resource": _described(_REQUIRED, "The resource, such as pod."),
                    "group": _described(_TEXT, "Its API group; empty for the core group."),
                },
                required=["resource"],
            )
            | {"type": "object"},
        },
        "namespaced": _described(
            _BOOLEAN, "externalRules only: whether a request is restricted to its namespace."
        ),
    }
)  # fmt: skip

_VALUE: Final = _choice("fail", "zero", "last", "omit")
_SIGNAL: Final = _mapping(
    {
        "onEmpty": _described(_VALUE, "The query returns no rows."),
        "onNaN": _described(_VALUE, "A value is NaN, infinite or too large."),
        "onStale": _described(_VALUE, "A sample is older than staleAfter."),
        "onPartial": _described(
            _choice("fail", "last", "accept"), "Some stores behind the backend did not respond."
        ),
        "staleAfter": _described(_DURATION, "The age at which a sample becomes stale."),
        "lastFor": _described(_DURATION, "The maximum age of a last good value."),
    },
    dependencies={"onStale": ["staleAfter"]},
    allOf=[
        {
            "if": {"properties": {name: {"const": "last"}}, "required": [name]},
            "then": {"required": ["lastFor"]},
        }
        for name in ("onEmpty", "onNaN", "onStale", "onPartial")
    ],
)
_BACKEND: Final = _described(_TEXT, "The name of a backend; default is that of --prometheus-url.")

_DISCOVERY: Final = _entries(
    {
        "seriesQuery": _described(_REQUIRED, "A PromQL selector of the series of the rule."),
        "seriesFilters": _described(
            _entries(
                {
                    "is": _described(_TEXT, "RE2 expression that the name of the series must match."),
                    "isNot": _described(_TEXT, "RE2 expression that it must not match."),
                },
                oneOf=[{"required": ["is"]}, {"required": ["isNot"]}],
            ),
            "All of them must match.",
        ),
        "resources": _described(_RESOURCES, "Which labels name objects, and of which resource."),
        "name": _described(
            _mapping(
                {
                    "matches": _described(_TEXT, "RE2 expression that the name of the series must match."),
                    "as": _described(_TEXT, 'The name of the metric, such as "${1}_per_second".'),
                }
            ),
            "The name of the metric, from that of the series.",
        ),
        "metricsQuery": _described(
            _TEXT, "Query template, such as sum(rate(<<.Series>>{<<.LabelMatchers>>}[2m])) by (<<.GroupBy>>)."
        ),
        "backend": _BACKEND,
        "signal": _described(_SIGNAL, "What a missing, invalid, old or partial value means."),
    },
    required=("seriesQuery",),
)  # fmt: skip

_RESOURCE_RULE: Final = _mapping(
    {
        "containerQuery": _described(_TEXT, "Query template for the usage of containers."),
        "nodeQuery": _described(_TEXT, "Query template for the usage of nodes."),
        "resources": _RESOURCES,
        "containerLabel": _described(_TEXT, "The label that names the container."),
    }
)

_NAMED: Final = _entries(
    {
        "name": _described(
            {**_REQUIRED, "not": {"enum": [".", "..", "*"]}, "pattern": "^[^/]+$"},
            "The name of the metric in the API.",
        ),
        "query": _described(_REQUIRED, "A PromQL query that returns an instant vector."),
        "describes": _described(
            _TEXT, "The resource that the rows describe, such as pods; without it, the metric is external."
        ),
        "labels": _mapping(
            {
                "object": _described(_TEXT, "The label with the name of the object."),
                "namespace": _described(_TEXT, "The label with the namespace."),
            }
        ),
        "window": _described(_DURATION, "The time range that the query averages over."),
        "backend": _BACKEND,
        "signal": _described(_SIGNAL, "What a missing, invalid, old or partial value means."),
    },
    required=("name", "query"),
)  # fmt: skip

_BACKENDS: Final = _entries(
    {
        "name": _described(_REQUIRED, "The name to use in `backend`."),
        "url": _described(
            {"type": "string", "pattern": "^https?://[^/?#]"}, "The base URL, including any path."
        ),
        "verb": _described(_choice("GET", "POST"), "HTTP method of queries."),
        "headers": {
            "description": "Headers sent with every request.",
            "type": ["object", "null"],
            "additionalProperties": _TEXT,
        },
        "tokenFile": _described(_TEXT, "A file with a bearer token."),
        "caFile": _described(_TEXT, "CA bundle to verify the certificate of the server."),
        "clientCertFile": _described(_TEXT, "Client certificate."),
        "clientKeyFile": _described(_TEXT, "Key of the client certificate."),
        "username": _described(_TEXT, "User for basic authentication."),
        "passwordFile": _described(_TEXT, "A file with the password."),
        "timeout": _described(_GO_DURATION, "Timeout of one query, such as 10s."),
        "maxConcurrency": _described(_POSITIVE, "Maximum number of concurrent queries."),
    },
    required=("name", "url"),
    dependencies={
        "clientCertFile": ["clientKeyFile"],
        "clientKeyFile": ["clientCertFile"],
        "username": ["passwordFile"],
        "passwordFile": ["username"],
    },
    **{"not": {"required": ["username", "tokenFile"]}},
)

CONFIGURATION: Final[Schema] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Configuration of loadline-adapter",
    **_mapping(
        {
            "rules": _described(_DISCOVERY, "Custom metrics from discovered series."),
            "externalRules": _described(_DISCOVERY, "External metrics from discovered series."),
            "resourceRules": _described(
                _mapping(
                    {
                        "cpu": _RESOURCE_RULE,
                        "memory": _RESOURCE_RULE,
                        "window": _described(_DURATION, "The time range that the queries average over."),
                        "backend": _BACKEND,
                    }
                ),
                "CPU and memory usage: metrics.k8s.io.",
            ),
            "metrics": _described(_NAMED, "Loadline only: metrics defined by a query."),
            "backends": _described(_BACKENDS, "Loadline only: additional Prometheus servers."),
        }
    ),
}  # fmt: skip
