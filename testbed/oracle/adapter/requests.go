package main

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"time"

	restful "github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapi "k8s.io/apiserver/pkg/endpoints"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	cminstall "k8s.io/metrics/pkg/apis/custom_metrics/install"
	eminstall "k8s.io/metrics/pkg/apis/external_metrics/install"

	"sigs.k8s.io/custom-metrics-apiserver/pkg/apiserver/installer"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
	cmstorage "sigs.k8s.io/custom-metrics-apiserver/pkg/registry/custom_metrics"
	emstorage "sigs.k8s.io/custom-metrics-apiserver/pkg/registry/external_metrics"

	"sigs.k8s.io/prometheus-adapter/pkg/config"
	custom "sigs.k8s.io/prometheus-adapter/pkg/custom-provider"
	external "sigs.k8s.io/prometheus-adapter/pkg/external-provider"
	"sigs.k8s.io/prometheus-adapter/pkg/naming"
)

type worldRow struct {
	Configuration string              `json:"configuration"`
	Series        map[string][]string `json:"series"`
	Objects       []object            `json:"objects"`
	Answers       map[string]string   `json:"answers"`
}

type requestRow struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	// The name of Prometheus' response among the prepared ones; or "error".
	Answer  string   `json:"answer"`
	Status  int      `json:"status"`
	Body    string   `json:"body"`
	Queries []string `json:"queries"`
}

const (
	customGroup   = "/apis/custom.metrics.k8s.io/v1beta1"
	customGroup2  = "/apis/custom.metrics.k8s.io/v1beta2"
	externalGroup = "/apis/external.metrics.k8s.io/v1beta1"
)

// The first row is the cluster with its series, the others are requests to prometheus-adapter's own handlers.
func requests() []any {
	prometheus := newPrometheus()
	server := httptest.NewServer(handlers(prometheus))
	defer server.Close()
	rows := []any{worldRow{worldConfiguration, worldSeries, worldObjects, worldAnswers}}
	seen := map[string]bool{}
	for _, row := range append(requestTable(), randomRequests()...) {
		if !seen[row.Method+row.Path+row.Answer] {
			seen[row.Method+row.Path+row.Answer] = true
			rows = append(rows, send(server, prometheus, row))
		}
	}
	return rows
}

func get(answer string, paths ...string) []requestRow {
	rows := []requestRow{}
	for _, path := range paths {
		rows = append(rows, requestRow{Method: http.MethodGet, Path: path, Answer: answer})
	}
	return rows
}

func requestTable() []requestRow {
	rows := get("pods", customGroup, customGroup2, externalGroup, customGroup+"/", customGroup+"/blah", customGroup+"/nodes/foo", customGroup+"/namespaces/ns/pods/bar",
		customGroup+"/namespaces/default", customGroup+"/namespaces/default/queue_length", customGroup+"/namespaces/default/metrics/queue_length", customGroup+"/namespaces/default/metrics/queue_length/extra",
		customGroup+"/namespaces/default/pods/web-0/queue_length/extra", customGroup+"/nodes/n1/node_load/", customGroup+"/namespaces/*/metrics/queue_length", externalGroup+"/queue_depth", externalGroup+"/namespaces/default",
		externalGroup+"/namespaces/default/queue_depth/x", externalGroup+"/namespaces/default/queue_depth?watch=true", externalGroup+"/namespaces/default/queue_depth?watch=0", externalGroup+"/namespaces/default/queue_depth?watch=1",
		customGroup+"/namespaces/default/pods/*/queue_length?watch=true", customGroup+"/namespaces/default/pods/*/queue_length?labelSelector=a%3D%3D%3Db", customGroup+"/namespaces/default/pods/*/queue_length?metricLabelSelector=a%3D%3D%3Db",
		externalGroup+"/namespaces/default/queue_depth?labelSelector=%21%21x", customGroup+"/namespaces/default/pods/*/queue_length?limit=abc", customGroup+"/namespaces/default/pods/*/queue_length?limit=5", customGroup+"/namespaces/default/pods/*/queue_length?timeoutSeconds=x",
		customGroup+"/namespaces/default/pods/web-0/queue_length?fieldSelector=metadata.name%3Dweb-0", customGroup+"/namespaces/default/pods/web-0/queue_length?fieldSelector=metadata.name%3Dother", customGroup+"/namespaces/default/pods/%2A/queue_length", customGroup+"/namespaces/default/pods/a%2Fb/queue_length",
		customGroup+"/namespaces/default/pods/web-0/queue%20length", customGroup+"/namespaces/default/pods/web-0/http_requests?metricLabelSelector=a&metricLabelSelector=b", customGroup+"/namespaces/default/unknown/x/http_requests", customGroup+"/namespaces/default/unknown/*/http_requests",
		customGroup+"/namespaces/default/pods/web-0/lost", customGroup+"/namespaces/default/pods/web-0/broken", customGroup+"/namespaces/default/pods/web-0/hollow", customGroup+"/namespaces/default/pods/*/hollow", externalGroup+"/namespaces/default/nowhere", externalGroup+"/namespaces/other/absent", externalGroup+"/namespaces/default/absent",
		customGroup+"/namespaces/default/pods/*/queue_length?labelSelector=app%3Dnobody", customGroup+"/pods/web-0/lost", customGroup+"/namespaces/default/nodes/n1/node_load", customGroup+"/namespaces/default/po/web-0/queue_length")
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		for _, path := range []string{customGroup + "/namespaces/default/pods/*/queue_length", externalGroup + "/namespaces/default/queue_depth", customGroup + "/namespaces/default/metrics/queue_length"} {
			rows = append(rows, requestRow{Method: method, Path: path, Answer: "pods"})
		}
	}
	return rows
}

func randomRequests() []requestRow {
	random := rand.New(rand.NewSource(5))
	pick := func(values ...string) string { return values[random.Intn(len(values))] }
	selectors := []string{"", "", "app=web", "app in (web,api)", "app!=web", "tier", "!tier", "app notin (api)", "app=web,tier=front"}
	metricSelectors := []string{"", "", "", "code=200", "code in (200,500)", "code in (2..)", "code!=200", "code notin (500),method=GET", "code", "!code", "code>5", "x.y/z=1"}
	targets := []string{
		"namespaces/default/pods/{}/http_requests", "namespaces/default/pod/{}/queue_length", "namespaces/default/pods/{}/over_busy", "namespaces/other/pods/{}/queue_length", "nodes/{node}/node_load", "node/{node}/queue_length", "nodes/{node}/over_idle",
		"namespaces/default/services/{svc}/http_requests", "namespaces/default/deployments.apps/{svc}/over_busy", "namespaces/default/deployments/{svc}/grouped", "namespaces/default/policies.example.com/p/policed", "namespaces/default/policies/*/policed",
		"namespaces/default/jobs.batch/x/http_requests", "namespaces/default/metrics/http_requests", "namespaces/default/metrics/over_busy", "namespaces/{*}/metrics/queue_length", "namespaces/default/pods/{}/grouped", "namespaces/default/pods/{}/missing", "persistentvolumes/x/volume_bytes",
	}
	rows := []requestRow{}
	for range 650 {
		target := pick(targets...)
		target = strings.NewReplacer("{}", pick("*", "web-0", "web-1", "zz"), "{node}", pick("*", "n1"), "{svc}", pick("*", "web"), "{*}", pick("*", "default")).Replace(target)
		query := url.Values{}
		if selector := pick(selectors...); selector != "" {
			query.Set("labelSelector", selector)
		}
		if selector := pick(metricSelectors...); selector != "" {
			query.Set("metricLabelSelector", selector)
		}
		rows = append(rows, requestRow{Method: http.MethodGet, Path: withQuery(pick(customGroup, customGroup2)+"/"+target, query), Answer: pick("empty", "pods", "pods", "twice", "renamed", "objects", "objects", "nan", "inf", "big", "none", "scalar", "matrix", "string", "error")})
	}
	for range 250 {
		query := url.Values{}
		if selector := pick(append(metricSelectors, "queue=a", "queue in (a,b)", "namespace=other")...); selector != "" {
			query.Set("labelSelector", selector)
		}
		path := externalGroup + "/namespaces/" + pick("default", "other") + "/" + pick("queue_depth", "queue_age", "jobs_rate", "nowhere", "counted", "absent")
		rows = append(rows, requestRow{Method: http.MethodGet, Path: withQuery(path, query), Answer: pick("empty", "queues", "queues", "none", "nan", "inf", "scalar", "matrix", "string", "error")})
	}
	return rows
}

func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

var now = regexp.MustCompile(`"timestamp":"20[^"]*"`)

func send(server *httptest.Server, prometheus *prometheus, row requestRow) requestRow {
	prometheus.queries = []string{}
	request := must(http.NewRequest(row.Method, server.URL+row.Path, nil))
	request.Header.Set("X-Answer", row.Answer)
	response := must(http.DefaultClient.Do(request))
	defer response.Body.Close()
	row.Status = response.StatusCode
	row.Body = now.ReplaceAllString(strings.TrimSpace(string(must(io.ReadAll(response.Body)))), `"timestamp":"now"`)
	row.Queries = prometheus.queries
	if strings.Contains(row.Body, `"APIResourceList"`) {
		row.Body = sortedResources(row.Body)
	}
	return row
}

// prometheus-adapter lists metrics in the random order of a Go map.
func sortedResources(body string) string {
	head, rest, _ := strings.Cut(body, `"resources":[`)
	entries := strings.Split(strings.TrimSuffix(rest, "]}"), "},{")
	for i := range entries {
		entries[i] = strings.Trim(entries[i], "{}")
	}
	sort.Strings(entries)
	return head + `"resources":[{` + strings.Join(entries, "},{") + "}]}"
}

func handlers(prometheus *prometheus) http.Handler {
	configuration := must(config.FromYAML([]byte(worldConfiguration)))
	mapper := mapper()
	customProvider, customRunner := custom.NewPrometheusProvider(mapper, &cluster{objects: worldObjects}, prometheus, must(naming.NamersFromConfig(configuration.Rules, mapper)), time.Hour, time.Hour)
	externalProvider, externalRunner := external.NewExternalPrometheusProvider(prometheus, must(naming.NamersFromConfig(configuration.ExternalRules, mapper)), time.Hour, time.Hour)
	forever := make(chan struct{})
	customRunner.RunUntil(forever)
	externalRunner.RunUntil(forever)
	for len(customProvider.ListAllMetrics()) == 0 || len(externalProvider.ListAllExternalMetrics()) == 0 {
		time.Sleep(10 * time.Millisecond)
	}

	container := restful.NewContainer()
	container.Router(restful.CurlyRouter{})
	scheme := runtime.NewScheme()
	cminstall.Install(scheme)
	eminstall.Install(scheme)
	if err := installer.RegisterConversions(scheme); err != nil {
		panic(err)
	}
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	codecs := serializer.NewCodecFactory(scheme)
	for _, served := range []schema.GroupVersion{{Group: "custom.metrics.k8s.io", Version: "v1beta1"}, {Group: "custom.metrics.k8s.io", Version: "v1beta2"}} {
		install(container, scheme, codecs, served, &installer.MetricsAPIGroupVersion{
			DynamicStorage: cmstorage.NewREST(customProvider), ResourceLister: provider.NewCustomMetricResourceLister(customProvider), Handlers: &installer.CMHandlers{},
		})
	}
	install(container, scheme, codecs, schema.GroupVersion{Group: "external.metrics.k8s.io", Version: "v1beta1"}, &installer.MetricsAPIGroupVersion{
		DynamicStorage: emstorage.NewREST(externalProvider), ResourceLister: provider.NewExternalMetricResourceLister(externalProvider), Handlers: &installer.EMHandlers{},
	})
	handler := genericapifilters.WithRequestInfo(container, genericapiserver.NewRequestInfoResolver(&genericapiserver.Config{LegacyAPIGroupPrefixes: nil}))
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		ctx := context.WithValue(request.Context(), answerKey{}, request.Header.Get("X-Answer"))
		handler.ServeHTTP(w, request.WithContext(ctx))
	})
}

func install(container *restful.Container, scheme *runtime.Scheme, codecs serializer.CodecFactory, served schema.GroupVersion, group *installer.MetricsAPIGroupVersion) {
	info := genericapiserver.NewDefaultAPIGroupInfo(served.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
	group.APIGroupVersion = &genericapi.APIGroupVersion{
		Root: "/apis", GroupVersion: served, MetaGroupVersion: info.MetaGroupVersion, ParameterCodec: info.ParameterCodec, Serializer: info.NegotiatedSerializer,
		Creater: info.Scheme, Convertor: info.Scheme, UnsafeConvertor: runtime.UnsafeObjectConvertor(info.Scheme), Typer: info.Scheme, Namer: runtime.Namer(meta.NewAccessor()),
	}
	if err := group.InstallREST(container); err != nil {
		panic(fmt.Sprintf("unable to install %s: %v", served, err))
	}
}
