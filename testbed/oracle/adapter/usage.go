package main

import (
	"context"
	"encoding/json"
	"sort"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metrics "k8s.io/metrics/pkg/apis/metrics"

	pmodel "github.com/prometheus/common/model"

	prom "sigs.k8s.io/prometheus-adapter/pkg/client"
	"sigs.k8s.io/prometheus-adapter/pkg/config"
	"sigs.k8s.io/prometheus-adapter/pkg/resourceprovider"
)

const usageConfiguration = `
resourceRules:
  cpu:
    containerQuery: sum(rate(cpu{<<.LabelMatchers>>}[3m])) by (<<.GroupBy>>)
    nodeQuery: sum(rate(cpu{<<.LabelMatchers>>,id='/'}[3m])) by (<<.GroupBy>>)
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}, instance: {resource: node}}}
    containerLabel: container
  memory:
    containerQuery: sum(mem{<<.LabelMatchers>>}) by (<<.GroupBy>>)
    nodeQuery: sum(mem{<<.LabelMatchers>>,id='/'}) by (<<.GroupBy>>)
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}, instance: {resource: node}}}
    containerLabel: container
  window: 3m
`

// The scenarios of resourceprovider/provider_test.go, and the edges of its arithmetic.
type usageRow struct {
	Title         string   `json:"title"`
	Configuration string   `json:"configuration"`
	Subjects      []string `json:"subjects"` // namespace/name for pods, name for nodes
	CPU           string   `json:"cpu"`      // Prometheus' response; for pods, per namespace the rows with that namespace label
	Memory        string   `json:"memory"`
	Queries       []string `json:"queries"`
	Metrics       string   `json:"metrics"` // sorted, without creationTimestamp
}

var usageTable = []usageRow{
	{Title: "pods of several namespaces", Subjects: []string{"a/p1", "a/p2", "b/p1"}, CPU: vector(`{"namespace":"a","pod":"p1","container":"c1"} 1.1`, `{"namespace":"a","pod":"p1","container":"c2"} 0.25`, `{"namespace":"a","pod":"p2","container":"c1"} 2`, `{"namespace":"b","pod":"p1","container":"c1"} 3.0005`), Memory: vector(`{"namespace":"a","pod":"p1","container":"c1"} 1024`, `{"namespace":"a","pod":"p1","container":"c2"} 1048576.5`, `{"namespace":"a","pod":"p2","container":"c1"} 2048`, `{"namespace":"b","pod":"p1","container":"c1"} 1e9`)},
	{Title: "a pod without memory is left out", Subjects: []string{"a/p1", "a/p2"}, CPU: vector(`{"namespace":"a","pod":"p1","container":"c1"} 1`, `{"namespace":"a","pod":"p2","container":"c1"} 1`), Memory: vector(`{"namespace":"a","pod":"p1","container":"c1"} 1024`)},
	{Title: "NaN and negative usage are 0", Subjects: []string{"a/p1", "a/p2"}, CPU: vector(`{"namespace":"a","pod":"p1","container":"c1"} NaN`, `{"namespace":"a","pod":"p2","container":"c1"} -1`), Memory: vector(`{"namespace":"a","pod":"p1","container":"c1"} -5`, `{"namespace":"a","pod":"p2","container":"c1"} NaN`)},
	{Title: "a container with one of the two has 0 of the other", Subjects: []string{"a/p1"}, CPU: vector(`{"namespace":"a","pod":"p1","container":"c1"} 0.0019`), Memory: vector(`{"namespace":"a","pod":"p1","container":"c2"} 4096`)},
	{Title: "one pod", Subjects: []string{"a/p1"}, CPU: vector(`{"namespace":"a","pod":"p1","container":"c1"} 0`), Memory: vector(`{"namespace":"a","pod":"p1","container":"c1"} 0`)},
	{Title: "no samples at all", Subjects: []string{"a/p1"}, CPU: vector(), Memory: vector()},
	{Title: "nodes", Subjects: []string{"n1", "n2"}, CPU: vector(`{"instance":"n1"} 1.5`, `{"instance":"n2"} 2`), Memory: vector(`{"instance":"n1"} 1024`, `{"instance":"n2"} 123456789`)},
	{Title: "a node without cpu is left out", Subjects: []string{"n1", "n2"}, CPU: vector(`{"instance":"n2"} 2`), Memory: vector(`{"instance":"n1"} 1024`, `{"instance":"n2"} 2048`)},
	{Title: "a node's NaN is 0, its first row counts", Subjects: []string{"n1"}, CPU: vector(`{"instance":"n1","x":"1"} NaN`, `{"instance":"n1","x":"2"} 7`), Memory: vector(`{"instance":"n1"} 1024`)},
}

type usagePrometheus struct {
	mu      sync.Mutex
	row     usageRow
	queries []string
}

func (p *usagePrometheus) Series(context.Context, pmodel.Interval, ...prom.Selector) ([]prom.Series, error) {
	panic("not used here")
}

func (p *usagePrometheus) QueryRange(context.Context, prom.Range, prom.Selector) (prom.QueryResult, error) {
	panic("not used here")
}

func (p *usagePrometheus) Query(_ context.Context, _ pmodel.Time, query prom.Selector) (prom.QueryResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queries = append(p.queries, string(query))
	var result prom.QueryResult
	answer := p.row.Memory
	if strings.Contains(string(query), "cpu") {
		answer = p.row.CPU
	}
	if err := json.Unmarshal([]byte(answer), &result); err != nil {
		return result, err
	}
	kept := pmodel.Vector{}
	for _, sample := range *result.Vector {
		namespace, known := sample.Metric["namespace"]
		if !known || strings.Contains(string(query), `namespace="`+string(namespace)+`"`) {
			kept = append(kept, sample)
		}
	}
	result.Vector = &kept
	return result, nil
}

func usage() []any {
	rules := must(config.FromYAML([]byte(usageConfiguration))).ResourceRules
	out := []any{}
	for _, row := range usageTable {
		prometheus := &usagePrometheus{row: row}
		provider := must(resourceprovider.NewProvider(prometheus, mapper(), rules))
		var document any
		if strings.Contains(row.Subjects[0], "/") {
			pods := []*metav1.PartialObjectMetadata{}
			for _, subject := range row.Subjects {
				namespace, name, _ := strings.Cut(subject, "/")
				pods = append(pods, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}})
			}
			document = podDocument(must(provider.GetPodMetrics(pods...)))
		} else {
			nodes := []*corev1.Node{}
			for _, subject := range row.Subjects {
				nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: subject, Labels: map[string]string{"zone": "a"}}})
			}
			document = nodeDocument(must(provider.GetNodeMetrics(nodes...)))
		}
		sort.Strings(prometheus.queries)
		row.Configuration, row.Queries, row.Metrics = usageConfiguration, prometheus.queries, string(must(json.Marshal(document)))
		out = append(out, row)
	}
	return out
}

// One line per container or node, so that the order of Go maps does not matter.
func podDocument(all []metrics.PodMetrics) []string {
	lines := []string{}
	for _, pod := range all {
		for _, container := range pod.Containers {
			cpu, memory := container.Usage[corev1.ResourceCPU], container.Usage[corev1.ResourceMemory]
			lines = append(lines, strings.Join([]string{pod.Namespace, pod.Name, pod.Labels["app"], container.Name, cpu.String(), memory.String(), pod.Timestamp.UTC().Format("15:04:05"), pod.Window.Duration.String()}, " "))
		}
	}
	sort.Strings(lines)
	return lines
}

func nodeDocument(all []metrics.NodeMetrics) []string {
	lines := []string{}
	for _, node := range all {
		cpu, memory := node.Usage[corev1.ResourceCPU], node.Usage[corev1.ResourceMemory]
		lines = append(lines, strings.Join([]string{node.Name, node.Labels["zone"], cpu.String(), memory.String(), node.Timestamp.UTC().Format("15:04:05"), node.Window.Duration.String()}, " "))
	}
	sort.Strings(lines)
	return lines
}
