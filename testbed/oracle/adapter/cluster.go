package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	pmodel "github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	prom "sigs.k8s.io/prometheus-adapter/pkg/client"
)

type answerKey struct{}

// prometheus responds to every query of a request with the request context's response, and records the queries.
type prometheus struct {
	series  map[prom.Selector][]prom.Series
	answers map[string]string
	queries []string
}

func (p *prometheus) Series(_ context.Context, _ pmodel.Interval, selectors ...prom.Selector) ([]prom.Series, error) {
	return append([]prom.Series{}, p.series[selectors[0]]...), nil
}

func (p *prometheus) Query(ctx context.Context, _ pmodel.Time, query prom.Selector) (prom.QueryResult, error) {
	p.queries = append(p.queries, string(query))
	var result prom.QueryResult
	answer, _ := ctx.Value(answerKey{}).(string)
	if answer == "error" {
		return result, errors.New("no answer")
	}
	err := json.Unmarshal([]byte(p.answers[answer]), &result)
	return result, err
}

func (p *prometheus) QueryRange(context.Context, prom.Range, prom.Selector) (prom.QueryResult, error) {
	panic("the adapter sends no range queries")
}

// cluster lists its objects by name, as an API server does.
type cluster struct {
	dynamic.Interface
	objects []object
}

type object struct {
	Resource  string            `json:"resource"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
}

type objectsOf struct {
	dynamic.NamespaceableResourceInterface
	cluster   *cluster
	resource  schema.GroupResource
	namespace string
}

func (c *cluster) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return &objectsOf{cluster: c, resource: resource.GroupResource()}
}

func (o *objectsOf) Namespace(namespace string) dynamic.ResourceInterface {
	return &objectsOf{cluster: o.cluster, resource: o.resource, namespace: namespace}
}

func (o *objectsOf) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"kind": "List", "apiVersion": "v1"}}
	for _, each := range o.cluster.objects {
		if each.Resource == o.resource.String() && (o.namespace == "" || o.namespace == each.Namespace) && selector.Matches(labels.Set(each.Labels)) {
			item := unstructured.Unstructured{Object: map[string]any{"kind": "Object", "apiVersion": "v1"}}
			item.SetName(each.Name)
			list.Items = append(list.Items, item)
		}
	}
	return list, nil
}

var worldObjects = []object{
	{"pods", "default", "api-0", map[string]string{"app": "api"}},
	{"pods", "default", "web-0", map[string]string{"app": "web", "tier": "front"}},
	{"pods", "default", "web-1", map[string]string{"app": "web"}},
	{"pods", "other", "web-9", map[string]string{"app": "web"}},
	{"nodes", "", "n1", map[string]string{"zone": "a"}},
	{"nodes", "", "n2", nil},
	{"namespaces", "", "default", nil},
	{"namespaces", "", "other", map[string]string{"team": "x"}},
	{"services", "default", "web", nil},
	{"deployments.apps", "default", "web", map[string]string{"app": "web"}},
	{"policies.example.com", "default", "p", nil},
}

// Every rule form, with series for each; the selector is the key under which the series are found.
const worldConfiguration = `
rules:
- seriesQuery: template
  resources: {template: "<<.Resource>>"}
  name: {matches: "^(.*)_total$"}
  metricsQuery: sum(rate(<<.Series>>{<<.LabelMatchers>>}[5m])) by (<<.GroupBy>>)
- seriesQuery: template
  seriesFilters: [{isNot: "_total$"}]
  resources: {template: "<<.Resource>>"}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)
- seriesQuery: overrides
  resources:
    overrides:
      ns: {resource: namespace}
      pod_name: {resource: pod}
      instance: {resource: node}
      deploy: {group: apps, resource: deployment}
  name: {as: "over_$0"}
  metricsQuery: max(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)
- seriesQuery: groups
  resources: {template: "kube_<<.Group>>_<<.Resource>>", overrides: {namespace: {resource: namespace}}}
  metricsQuery: <<.Series>>{<<.LabelMatchers>>,ns="<<index .LabelValuesByName "namespace">>"}
- seriesQuery: homeless
  resources: {overrides: {pod: {resource: pod}}}
  metricsQuery: <<.Series>>{<<.LabelMatchers>>}
- seriesQuery: broken
  resources: {template: "<<.Resource>>"}
  metricsQuery: <<.Nonsense>>
- seriesQuery: empty
  resources: {template: "<<.Resource>>"}
externalRules:
- seriesQuery: queue
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>}) by (queue)
- seriesQuery: everywhere
  resources: {namespaced: false}
  name: {matches: "^(.*)_total$", as: "${1}_rate"}
  metricsQuery: sum(rate(<<.Series>>{<<.LabelMatchers>>}[1m]))
- seriesQuery: unmapped
  metricsQuery: <<.Series>>{<<.LabelMatchers>>}
- seriesQuery: grouped
  resources: {namespaced: false}
  metricsQuery: count(<<.Series>>) by (<<.GroupBy>>)
`

var worldSeries = map[string][]string{
	"template":   {"http_requests_total pod,namespace,service,job,instance", "queue_length namespace,pod,node", "node_load node", "volume_bytes persistentvolume", "jobless x,y"},
	"overrides":  {"busy ns,pod_name,instance,deploy,extra", "idle instance"},
	"groups":     {"grouped kube_apps_deployment,kube__pod,namespace", "policed kube_example_policy,namespace"},
	"homeless":   {"lost pod"},
	"broken":     {"broken pod,namespace"},
	"empty":      {"hollow pod,namespace"},
	"queue":      {"queue_depth queue,namespace", "queue_age queue"},
	"everywhere": {"jobs_total shard"},
	"unmapped":   {"nowhere a"},
	"grouped":    {"counted a"},
}

var worldAnswers = map[string]string{
	"empty":   vector(),
	"pods":    vector(`{"pod":"web-0"} 1.2345`, `{"pod":"web-1"} 10`, `{"pod":"stranger"} 3`),
	"twice":   vector(`{"pod":"web-0","code":"200"} 1`, `{"pod":"web-0","code":"500"} 2`),
	"renamed": vector(`{"pod_name":"web-0"} 0.0004`, `{"pod_name":"web-1"} -1.5`),
	"objects": vector(`{"node":"n1","instance":"n1"} 7`, `{"namespace":"default","ns":"default"} 2500`, `{"service":"web"} 1e6`, `{"deploy":"web","kube_apps_deployment":"web"} 0.5`, `{"kube_example_com_policy":"p"} 4`, `{"kube__pod":"web-0"} 5`),
	"nan":     vector(`{"pod":"web-0"} NaN`, `{"pod":"web-1"} 2`),
	"queues":  vector(`{"queue":"a","__name__":"depth"} 3`, `{"queue":"b"} 4.0009`, `{} 0`),
	"none":    vector(`{} 12345678.9`),
	"big":     vector(`{"pod":"web-0"} 9007199254740`, `{"pod":"web-1"} 1024000`),
	"inf":     vector(`{"pod":"web-0","queue":"a"} +Inf`, `{"pod":"web-1","queue":"b"} 1`),
	"scalar":  `{"resultType":"scalar","result":[1000,"42.5"]}`,
	"matrix":  `{"resultType":"matrix","result":[]}`,
	"string":  `{"resultType":"string","result":[1000,"x"]}`,
}

func vector(rows ...string) string {
	out := []string{}
	for _, row := range rows {
		at := strings.LastIndex(row, " ")
		out = append(out, fmt.Sprintf(`{"metric":%s,"value":[1000,"%s"]}`, row[:at], row[at+1:]))
	}
	return `{"resultType":"vector","result":[` + strings.Join(out, ",") + `]}`
}

func newPrometheus() *prometheus {
	series := map[prom.Selector][]prom.Series{}
	for selector, all := range worldSeries {
		for _, each := range all {
			name, labelNames, _ := strings.Cut(each, " ")
			set := pmodel.LabelSet{}
			for _, label := range strings.Split(labelNames, ",") {
				set[pmodel.LabelName(label)] = "v"
			}
			series[prom.Selector(selector)] = append(series[prom.Selector(selector)], prom.Series{Name: name, Labels: set})
		}
	}
	return &prometheus{series: series, answers: worldAnswers}
}
