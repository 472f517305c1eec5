package main

import (
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	custom1 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta1"
	custom2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	external "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

type documentRow struct {
	Name string `json:"name"`
	JSON string `json:"json"`
}

// The documents are as text, because the bytes are what is compared: names, order and what is left out.
func documents() []any {
	rows := []any{}
	for _, each := range []struct {
		name  string
		value any
	}{
		{"custom v1beta2", customV1beta2()},
		{"custom v1beta2, empty", custom2.MetricValueList{TypeMeta: kind("MetricValueList", custom2.SchemeGroupVersion.String()), Items: []custom2.MetricValue{}}},
		{"custom v1beta2, null", custom2.MetricValueList{TypeMeta: kind("MetricValueList", custom2.SchemeGroupVersion.String())}},
		{"custom v1beta1", customV1beta1()},
		{"external", externalV1beta1()},
		{"external, null", external.ExternalMetricValueList{TypeMeta: kind("ExternalMetricValueList", external.SchemeGroupVersion.String())}},
		{"pods", podMetrics()},
		{"pod", podMetric(kind("PodMetrics", metrics.SchemeGroupVersion.String()))},
		{"nodes", nodeMetrics()},
		{"group", apiGroup(kind("APIGroup", "v1"))},
		{"groups", metav1.APIGroupList{TypeMeta: kind("APIGroupList", "v1"), Groups: []metav1.APIGroup{apiGroup(metav1.TypeMeta{})}}},
		{"resources", apiResources()},
		{"resources, empty", metav1.APIResourceList{TypeMeta: kind("APIResourceList", "v1"), GroupVersion: "a/v1", APIResources: []metav1.APIResource{}}},
		{"versions", metav1.APIVersions{TypeMeta: kind("APIVersions", ""), Versions: []string{"v1"}, ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: "127.0.0.1:6443"}}}},
		{"aggregated", apidiscovery.APIGroupDiscoveryList{TypeMeta: kind("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2"), Items: []apidiscovery.APIGroupDiscovery{}}},
		{"bad request", status(errors.NewBadRequest("no"))},
		{"internal error", status(errors.NewInternalError(errors.NewBadRequest("boom")))},
		{"unavailable", status(errors.NewServiceUnavailable("later"))},
		{"object", objectMeta()},
	} {
		rows = append(rows, documentRow{Name: each.name, JSON: string(marshal(each.value))})
	}
	return rows
}

var at = metav1.NewTime(time.Date(2026, 11, 21, 12, 34, 56, 789_000_000, time.UTC))

func kind(name, version string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: name, APIVersion: version}
}

func seconds(count int64) *int64 { return &count }

func yes() *bool { value := true; return &value }

func webPod() corev1.ObjectReference {
	return corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web-0", APIVersion: "/v1"}
}

func webSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{
		MatchLabels:      map[string]string{"queue": "mail"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "In", Values: []string{"a", "b"}}, {Key: "x", Operator: "Exists"}},
	}
}

func customV1beta2() any {
	value := custom2.MetricValue{
		DescribedObject: webPod(), Metric: custom2.MetricIdentifier{Name: "requests", Selector: webSelector()},
		Timestamp: at, WindowSeconds: seconds(60), Value: resource.MustParse("1500m"),
	}
	bare := custom2.MetricValue{Metric: custom2.MetricIdentifier{Name: "requests"}, Value: *resource.NewQuantity(0, resource.DecimalSI)}
	return custom2.MetricValueList{TypeMeta: kind("MetricValueList", custom2.SchemeGroupVersion.String()), Items: []custom2.MetricValue{value, bare}}
}

func customV1beta1() any {
	value := custom1.MetricValue{
		DescribedObject: webPod(), MetricName: "requests", Timestamp: at, WindowSeconds: seconds(60),
		Value: resource.MustParse("1500m"), Selector: webSelector(),
	}
	bare := custom1.MetricValue{MetricName: "requests", Value: *resource.NewQuantity(0, resource.DecimalSI)}
	return custom1.MetricValueList{TypeMeta: kind("MetricValueList", custom1.SchemeGroupVersion.String()), Items: []custom1.MetricValue{value, bare}}
}

func externalV1beta1() any {
	return external.ExternalMetricValueList{
		TypeMeta: kind("ExternalMetricValueList", external.SchemeGroupVersion.String()),
		Items: []external.ExternalMetricValue{
			{MetricName: "queue_length", MetricLabels: map[string]string{"queue": "mail", "a": "b"}, Timestamp: at, WindowSeconds: seconds(300), Value: resource.MustParse("42")},
			{MetricName: "queue_length", Value: resource.MustParse("-1")},
		},
	}
}

func usage() corev1.ResourceList {
	return corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": *resource.NewQuantity(128<<20, resource.BinarySI)}
}

func podMetric(typeMeta metav1.TypeMeta) metrics.PodMetrics {
	return metrics.PodMetrics{
		TypeMeta:   typeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: "default", CreationTimestamp: at, Labels: map[string]string{"app": "web"}},
		Timestamp:  at, Window: metav1.Duration{Duration: time.Minute},
		Containers: []metrics.ContainerMetrics{{Name: "main", Usage: usage()}},
	}
}

func podMetrics() any {
	return metrics.PodMetricsList{TypeMeta: kind("PodMetricsList", metrics.SchemeGroupVersion.String()), Items: []metrics.PodMetrics{podMetric(metav1.TypeMeta{})}}
}

func nodeMetrics() any {
	return metrics.NodeMetricsList{
		TypeMeta: kind("NodeMetricsList", metrics.SchemeGroupVersion.String()),
		Items: []metrics.NodeMetrics{{
			ObjectMeta: metav1.ObjectMeta{Name: "node-1", CreationTimestamp: at}, Timestamp: at,
			Window: metav1.Duration{Duration: 15 * time.Second}, Usage: usage(),
		}},
	}
}

func apiGroup(typeMeta metav1.TypeMeta) metav1.APIGroup {
	version := metav1.GroupVersionForDiscovery{GroupVersion: "custom.metrics.k8s.io/v1beta1", Version: "v1beta1"}
	other := metav1.GroupVersionForDiscovery{GroupVersion: "custom.metrics.k8s.io/v1beta2", Version: "v1beta2"}
	return metav1.APIGroup{
		TypeMeta: typeMeta, Name: "custom.metrics.k8s.io",
		Versions: []metav1.GroupVersionForDiscovery{version, other}, PreferredVersion: version,
	}
}

func apiResources() any {
	return metav1.APIResourceList{
		TypeMeta: kind("APIResourceList", "v1"), GroupVersion: "custom.metrics.k8s.io/v1beta1",
		APIResources: []metav1.APIResource{
			{Name: "pods/requests", Namespaced: true, Kind: "MetricValueList", Verbs: metav1.Verbs{"get"}},
			{Name: "deployments", SingularName: "deployment", Namespaced: true, Kind: "Deployment", Group: "apps", Version: "v1",
				Verbs: metav1.Verbs{"get", "list"}, ShortNames: []string{"deploy"}, Categories: []string{"all"}, StorageVersionHash: "x"},
		},
	}
}

func status(err *errors.StatusError) metav1.Status {
	answer := err.Status()
	answer.TypeMeta = kind("Status", "v1")
	return answer
}

func objectMeta() any {
	return struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}{metav1.ObjectMeta{
		Name: "web-0", GenerateName: "web-", Namespace: "default", UID: "u", ResourceVersion: "7", Generation: 2,
		CreationTimestamp: at, DeletionTimestamp: &at, Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "r", Controller: yes(), BlockOwnerDeletion: yes()}},
		Finalizers:      []string{"f"},
	}}
}
