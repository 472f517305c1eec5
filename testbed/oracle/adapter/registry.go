package main

import (
	"context"
	"sort"
	"time"

	pmodel "github.com/prometheus/common/model"
	coreapi "k8s.io/api/core/v1"
	extensions "k8s.io/api/extensions/v1beta1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/provider"
	"sigs.k8s.io/yaml"

	generated "sigs.k8s.io/prometheus-adapter/cmd/config-gen/utils"
	prom "sigs.k8s.io/prometheus-adapter/pkg/client"
	"sigs.k8s.io/prometheus-adapter/pkg/config"
	custom "sigs.k8s.io/prometheus-adapter/pkg/custom-provider"
	"sigs.k8s.io/prometheus-adapter/pkg/naming"
)

// series_registry_test.go: the default rules with the prefix kube_, a cluster whose Ingress and Deployment are in `extensions`.
type registryRow struct {
	Configuration string              `json:"configuration"`
	Series        map[string][]string `json:"series"`
	Metrics       []string            `json:"metrics"`
	Cases         []registryCase      `json:"cases"`
}

type registryCase struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Metric    string `json:"metric"`
	Name      string `json:"name"`
	Selector  string `json:"selector"`
	Query     string `json:"query"`
}

var registrySeries = []prom.Series{
	series("container_some_time_seconds_total", "pod", "namespace", "container"),
	series("container_some_count_total", "pod", "namespace", "container"),
	series("container_some_usage", "pod", "namespace", "container"),
	series("node_gigawatts", "kube_node"),
	series("service_proxy_packets", "kube_service", "kube_namespace"),
	series("ingress_hits_total", "kube_ingress", "kube_service", "kube_pod", "kube_namespace"),
	series("volume_claims_total", "kube_persistentvolume"),
	series("work_queue_wait_seconds_total", "kube_deployment", "kube_namespace"),
	series("node_fan_seconds_total", "kube_node"),
}

func series(name string, labelNames ...string) prom.Series {
	set := pmodel.LabelSet{}
	for _, label := range labelNames {
		set[pmodel.LabelName(label)] = "v"
	}
	return prom.Series{Name: name, Labels: set}
}

func registryMapper() apimeta.RESTMapper {
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{coreapi.SchemeGroupVersion})
	mapper.Add(coreapi.SchemeGroupVersion.WithKind("Pod"), apimeta.RESTScopeNamespace)
	mapper.Add(coreapi.SchemeGroupVersion.WithKind("Service"), apimeta.RESTScopeNamespace)
	mapper.Add(extensions.SchemeGroupVersion.WithKind("Ingress"), apimeta.RESTScopeNamespace)
	mapper.Add(extensions.SchemeGroupVersion.WithKind("Deployment"), apimeta.RESTScopeNamespace)
	mapper.Add(coreapi.SchemeGroupVersion.WithKind("Node"), apimeta.RESTScopeRoot)
	mapper.Add(coreapi.SchemeGroupVersion.WithKind("PersistentVolume"), apimeta.RESTScopeRoot)
	mapper.Add(coreapi.SchemeGroupVersion.WithKind("Namespace"), apimeta.RESTScopeRoot)
	return mapper
}

func registry() []any {
	rules := generated.DefaultConfig(time.Minute, "kube_")
	prometheus := &prometheus{series: map[prom.Selector][]prom.Series{}, answers: worldAnswers}
	written := map[string][]string{}
	for _, rule := range rules.Rules {
		written[rule.SeriesQuery] = nil
		if _, known := prometheus.series[prom.Selector(rule.SeriesQuery)]; known {
			continue
		}
		for _, each := range registrySeries {
			isContainer := len(each.Name) > 10 && each.Name[:10] == "container_"
			if isContainer == (len(rule.Resources.Overrides) > 0) {
				prometheus.series[prom.Selector(rule.SeriesQuery)] = append(prometheus.series[prom.Selector(rule.SeriesQuery)], each)
			}
		}
	}
	for selector := range written {
		for _, each := range prometheus.series[prom.Selector(selector)] {
			written[selector] = append(written[selector], seriesText(each))
		}
	}
	namers := must(naming.NamersFromConfig(rules.Rules, registryMapper()))
	metrics, runner := custom.NewPrometheusProvider(registryMapper(), &cluster{}, prometheus, namers, time.Hour, time.Hour)
	runner.RunUntil(make(chan struct{}))
	for len(metrics.ListAllMetrics()) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	return []any{registryRow{
		Configuration: string(must(yaml.Marshal(configOf(rules)))),
		Series:        written,
		Metrics:       listed(metrics),
		Cases:         registryCases(metrics, prometheus),
	}}
}

// The window of resourceRules marshals to a number in JSON; only the rules are of interest here.
func configOf(rules *config.MetricsDiscoveryConfig) map[string]any {
	return map[string]any{"rules": rules.Rules}
}

func seriesText(each prom.Series) string {
	names := []string{}
	for label := range each.Labels {
		names = append(names, string(label))
	}
	sort.Strings(names)
	text := each.Name
	for i, name := range names {
		text += map[bool]string{true: " ", false: ","}[i == 0] + name
	}
	return text
}

func listed(metrics provider.CustomMetricsProvider) []string {
	names := []string{}
	for _, each := range metrics.ListAllMetrics() {
		names = append(names, each.String())
	}
	sort.Strings(names)
	return names
}

func registryCases(metrics provider.CustomMetricsProvider, prometheus *prometheus) []registryCase {
	cases := []registryCase{
		{Resource: "pods", Namespace: "somens", Metric: "some_usage", Name: "somepod1"},
		{Resource: "pods", Namespace: "somens", Metric: "some_count", Name: "somepod1"},
		{Resource: "pods", Namespace: "somens", Metric: "some_time", Name: "somepod1"},
		{Resource: "service", Namespace: "somens", Metric: "ingress_hits", Name: "somesvc"},
		{Resource: "service", Namespace: "somens", Metric: "ingress_hits", Name: "somesvc", Selector: "param1=value1"},
		{Resource: "ingress.extensions", Namespace: "somens", Metric: "ingress_hits", Name: "someingress"},
		{Resource: "pod", Namespace: "somens", Metric: "ingress_hits", Name: "somepod"},
		{Resource: "service", Namespace: "somens", Metric: "service_proxy_packets", Name: "somesvc"},
		{Resource: "deployment.extensions", Namespace: "somens", Metric: "work_queue_wait", Name: "somedep"},
		{Resource: "node", Metric: "node_gigawatts", Name: "somenode"},
		{Resource: "persistentvolume", Metric: "volume_claims", Name: "somepv"},
		{Resource: "node", Metric: "node_fan", Name: "somenode"},
		{Resource: "namespaces", Metric: "ingress_hits", Name: "somens"},
		{Resource: "node", Namespace: "somens", Metric: "node_fan", Name: "somenode"},
		{Resource: "pod", Metric: "ingress_hits", Name: "somepod"},
	}
	ctx := context.WithValue(context.Background(), answerKey{}, "empty")
	for i, each := range cases {
		prometheus.queries = nil
		selector := must(labels.Parse(each.Selector))
		info := provider.CustomMetricInfo{GroupResource: schema.ParseGroupResource(each.Resource), Namespaced: each.Namespace != "", Metric: each.Metric}
		_, _ = metrics.GetMetricByName(ctx, types.NamespacedName{Namespace: each.Namespace, Name: each.Name}, info, selector)
		for _, query := range prometheus.queries {
			cases[i].Query = query
		}
	}
	return cases
}
