"""The parts of requests: valid and malformed selectors, Accept headers, list options, odd paths."""

NO_SELECTOR = ""

LABEL_SELECTORS = (
    "app=web", "app==web", "app!=web", "app in (web,db)", "app in (web)", "app notin (web)", "app", "!app",
    "app=web,tier in (a,b)", "app=web,tier notin (a,b)", "tier", "weight>15", "weight<15", "weight>5,weight<15",
    "example.com/role=odd", "app=", "app in ()", "app in (,)", "app=mars", "app in (spinner,venus)", "app=missing",
    " app = web , tier = a ", "app=web,app=web", "app=web,app=db", "a=b,c=d,e=f",
    "kubernetes.io/hostname=node-1", "type=kwok,kubernetes.io/hostname in (node-0,node-2)",
)  # fmt: skip
"""Valid selectors over the labels of the objects."""

METRIC_SELECTORS = (
    "verb=GET", "verb==GET", "verb!=GET", "verb in (GET,POST)", "verb in (GET)", "verb notin (GET)", "verb", "!verb",
    "verb=GET,code=200", "code in (200,500),verb notin (POST)", "code>200", "code<300", "queue=mail", "queue=a.b",
    "queue in (mail,jobs)", "queue!=mail", "queue notin (jobs),topic", "!queue", "topic=topic-9", "kind=nan",
    "kind=inf", "kind in (nan,inf)", "kind=too_large", "kind notin (nan,inf,minus_inf,too_large)", "namespace=default",
    "namespace in (differential-one,differential-two)", "pod=web-0", "pod in (web-0,db-0)", "code=", "code in ()",
    "copy=first", "text", "name=c0", "container=main", "container!=POD",
)  # fmt: skip
"""Valid selectors over the labels of the series."""

FIELD_SELECTORS = (
    "metadata.name=web-0", "metadata.name==node-1", "metadata.name!=web-0", "metadata.namespace=differential-one",
    "metadata.namespace!=differential-one,metadata.name!=db-0", "metadata.name=web-0,metadata.name=db-0", "metadata.name",
    "metadata.namespace=", "spec.nodeName=node-0", "metadata.name=web-0,", "=web-0",
)  # fmt: skip

MALFORMED_SELECTORS = (
    "app in", "app in (web", "=web", "app=web,", ",", "app=(web)", "app=a=b", "a/b/c=d", "app=wéb", "app in web",
    "!app=web", "app notin", "app>x", "app>", "app>1.5", "app=-web", "-app=web", "app=web;tier=a", "(", "app=web app=db",
    "app=" + "x" * 64, "x" * 64 + "=a", "app=web\n", "app !in (a)", "exists app", "app=~web", 'app="web"',
)  # fmt: skip

ACCEPTS = (
    "*/*",
    "application/json",
    "application/json, */*",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf,application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "text/html",
    "text/plain, application/json;q=0.5",
    "application/json;q=0",
    "application/*",
    "nonsense",
    "application/cbor",
    "application/json;stream=watch",
    "application/json;pretty=1",
)

AGGREGATED_ACCEPTS = (
    "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList",
    "application/json;v=v2beta1;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList",
    (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    ),
    "application/json;v=v3;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList",
    "application/vnd.kubernetes.protobuf;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList",
)

OPTIONS = (
    ("watch", "true"), ("watch", "1"), ("watch", "false"), ("watch", ""), ("watch", "maybe"),
    ("limit", "1"), ("limit", "0"), ("limit", "-1"), ("limit", "x"), ("limit", ""), ("limit", "1.5"),
    ("timeoutSeconds", "5"), ("timeoutSeconds", "x"), ("timeout", "5s"), ("timeout", "x"), ("pretty", "true"),
    ("resourceVersion", "0"), ("resourceVersion", "x"), ("resourceVersionMatch", "Exact"), ("continue", "abc"),
    ("fieldSelector", "metadata.name=web-0"), ("fieldSelector", "metadata.name!=web-0"),
    ("fieldSelector", "spec.nodeName=node-0"), ("fieldSelector", "nonsense"), ("allowWatchBookmarks", "true"),
    ("sendInitialEvents", "true"), ("unknown", "option"), ("labelSelector", "app=db"), ("LabelSelector", "app=db"),
    ("kind", "Pod"), ("apiVersion", "v1"),
)  # fmt: skip
"""List options of apimachinery, valid and invalid; some repeat an option that the request already has."""

METHODS = ("POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")

UNKNOWN_RESOURCES = (
    "zonks", "zonks.example.io", "pods.example.io", "pod.", ".pods", "*", "metrics", "pods%2Flog", "deployments.v9.apps",
)  # fmt: skip
UNKNOWN_METRICS = (
    "no_such_metric", "", "%20", "http_requests_total", "http_requests/", "HTTP_REQUESTS", "*", "%2A", "größe", "a%2Fb", "100%", "%zz",
)  # fmt: skip
MISSING_NAMES = (
    "missing",
    "web-*",
    "web-0%20",
    "WEB-0",
    "web-0|web-1",
    "web-9",
    ".",
    "%2e%2e",
    "w%C3%A9b",
)
MISSING_NAMESPACES = ("nowhere", "default", "kube-system", "*", "%2A", "Differential-One")

ODD_PATHS = (
    "/", "/apis", "/apis/", "/api", "/api/v1", "/version", "/foo", "/apis/foo", "/apis/foo/v1", "/healthz", "/livez",
    "/readyz", "/openapi", "/apis/custom.metrics.k8s.io", "/apis/custom.metrics.k8s.io/", "/apis/external.metrics.k8s.io",
    "/apis/metrics.k8s.io", "/apis/custom.metrics.k8s.io/v1", "/apis/custom.metrics.k8s.io/v1beta9/pods",
    "/apis/custom.metrics.k8s.io/v1beta1", "/apis/custom.metrics.k8s.io/v1beta2", "/apis/custom.metrics.k8s.io/v1beta1/",
    "/apis/external.metrics.k8s.io/v1beta1", "/apis/external.metrics.k8s.io/v1beta2", "/apis/metrics.k8s.io/v1beta1",
    "/apis/metrics.k8s.io/v1", "//apis", "/apis//custom.metrics.k8s.io", "/apis/custom.metrics.k8s.io/v1beta1/pods",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces", "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one/pods",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one/pods/web-0",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one/metrics",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one/http_requests",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one/pods/web-0/http_requests/more",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one/pods/web-0/http_requests/more/still",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one//pods/web-0/http_requests",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one/pods/web-0/http_requests/",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one/pods%2Fweb-0%2Fhttp_requests",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/./pods/web-0/http_requests",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/x/../differential-one/pods/web-0/http_requests",
    "/apis/custom.metrics.k8s.io/v1beta1/namespaces/differential-one/metrics/http_requests/more",
    "/apis/custom.metrics.k8s.io/v1beta1/watch/namespaces/differential-one/pods/web-0/http_requests",
    "/apis/external.metrics.k8s.io/v1beta1/namespaces", "/apis/external.metrics.k8s.io/v1beta1/namespaces/default",
    "/apis/external.metrics.k8s.io/v1beta1/queue_depth", "/apis/external.metrics.k8s.io/v1beta1/namespaces//queue_depth",
    "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_depth/more",
    "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue_depth/",
    "/apis/metrics.k8s.io/v1beta1/pods/web-0", "/apis/metrics.k8s.io/v1beta1/namespaces/differential-one",
    "/apis/metrics.k8s.io/v1beta1/namespaces/differential-one/nodes", "/apis/metrics.k8s.io/v1beta1/services",
    "/apis/metrics.k8s.io/v1beta1/namespaces/differential-one/pods/web-0/status",
    "/apis/metrics.k8s.io/v1beta1/namespaces/differential-one/pods/",
)  # fmt: skip
