package main

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	pmodel "github.com/prometheus/common/model"

	prom "sigs.k8s.io/prometheus-adapter/pkg/client"
	"sigs.k8s.io/prometheus-adapter/pkg/config"
	"sigs.k8s.io/prometheus-adapter/pkg/naming"
)

// The cluster of every vector; tests/fakes/adapter_vectors.py has the same.
func mapper() apimeta.RESTMapper {
	core := schema.GroupVersion{Version: "v1"}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	batch := schema.GroupVersion{Group: "batch", Version: "v1"}
	networking := schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"}
	example := schema.GroupVersion{Group: "example.com", Version: "v1alpha1"}
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{core, apps, batch, networking, example})
	for _, kind := range []string{"Pod", "Service"} {
		mapper.Add(core.WithKind(kind), apimeta.RESTScopeNamespace)
	}
	for _, kind := range []string{"Namespace", "Node", "PersistentVolume"} {
		mapper.Add(core.WithKind(kind), apimeta.RESTScopeRoot)
	}
	mapper.Add(apps.WithKind("Deployment"), apimeta.RESTScopeNamespace)
	mapper.Add(batch.WithKind("Job"), apimeta.RESTScopeNamespace)
	mapper.Add(networking.WithKind("Ingress"), apimeta.RESTScopeNamespace)
	mapper.Add(example.WithKind("Policy"), apimeta.RESTScopeNamespace)
	return mapper
}

type resourceRow struct {
	Template  string                          `json:"template"`
	Overrides map[string]config.GroupResource `json:"overrides"`
	Refused   bool                            `json:"refused"`
	// Label to the resource it names ("" for none), and resource to its label ("" for none).
	Resources map[string]string `json:"resources"`
	Labels    map[string]string `json:"labels"`
}

var labelNames = []string{
	"pod", "namespace", "node", "job", "service", "instance", "kube_pod", "kube_namespace", "kube_apps_deployment", "kube__pod", "deployment", "ingress", "policy", "pods", "namespaces",
	"kube_networking_k8s_io_ingress", "kube_networking_ingress", "kube_example_com_policy", "persistentvolume", "exported_namespace", "jobs", "apps_deployment", "x", "pod_suffix",
}

var resourceNames = []schema.GroupResource{
	{Resource: "pods"}, {Resource: "namespaces"}, {Resource: "nodes"}, {Resource: "services"}, {Resource: "persistentvolumes"}, {Group: "apps", Resource: "deployments"},
	{Group: "batch", Resource: "jobs"}, {Group: "networking.k8s.io", Resource: "ingresses"}, {Group: "example.com", Resource: "policies"},
}

func resources() []any {
	namespaceAndPod := map[string]config.GroupResource{"namespace": {Resource: "namespace"}, "pod": {Resource: "pod"}}
	rows := []resourceRow{}
	for _, template := range []string{
		"", "<<.Resource>>", "kube_<<.Resource>>", "kube_<<.Group>>_<<.Resource>>", "<<.Group>>_<<.Resource>>", "<<.Resource>>_suffix", "<<.Group>>", "fixed", "<<.Foo>>", "<<if .Group>><<.Group>>_<<end>><<.Resource>>", "<<.Resource", "exported_<<.Resource>>",
	} {
		for _, overrides := range []map[string]config.GroupResource{
			nil, namespaceAndPod, {"instance": {Resource: "node"}}, {"x": {Group: "apps", Resource: "deployment"}}, {"exported_namespace": {Resource: "namespaces"}, "job": {Resource: "services"}}, {"x": {Group: "example.com", Resource: "policy"}},
			{"x": {Resource: "nonsense"}}, {"x": {Group: "networking", Resource: "ingress"}},
		} {
			rows = append(rows, resourceRow{Template: template, Overrides: overrides})
		}
	}
	out := []any{}
	for _, row := range rows {
		out = append(out, converted(row))
	}
	return out
}

func converted(row resourceRow) resourceRow {
	row.Resources, row.Labels = map[string]string{}, map[string]string{}
	// A converter caches its results: each case gets a new one.
	fresh := func() (naming.ResourceConverter, error) {
		return naming.NewResourceConverter(row.Template, row.Overrides, mapper())
	}
	if _, err := fresh(); err != nil {
		return resourceRow{Template: row.Template, Overrides: row.Overrides, Refused: true}
	}
	for _, label := range labelNames {
		converter := must(fresh())
		found, _ := converter.ResourcesForSeries(prom.Series{Name: "x", Labels: pmodel.LabelSet{pmodel.LabelName(label): "v"}})
		row.Resources[label] = ""
		if len(found) == 1 {
			row.Resources[label] = found[0].String()
		}
	}
	for _, resource := range resourceNames {
		label, err := must(fresh()).LabelForResource(resource)
		row.Labels[resource.String()] = string(label)
		if err != nil {
			row.Labels[resource.String()] = ""
		}
	}
	return row
}
