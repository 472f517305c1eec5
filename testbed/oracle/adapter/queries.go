package main

import (
	"math/rand"
	"strings"

	pmodel "github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	prom "sigs.k8s.io/prometheus-adapter/pkg/client"
	"sigs.k8s.io/prometheus-adapter/pkg/naming"
)

// labelIsResource names the label of a resource by the resource, as prometheus-adapter's own tests do.
type labelIsResource struct{}

func (labelIsResource) ResourcesForSeries(prom.Series) ([]schema.GroupResource, bool) {
	return nil, true
}

func (labelIsResource) LabelForResource(resource schema.GroupResource) (pmodel.LabelName, error) {
	return pmodel.LabelName(resource.Resource), nil
}

type queryRow struct {
	External   bool     `json:"external"`
	Namespaced bool     `json:"namespaced"`
	Template   string   `json:"template"`
	Series     string   `json:"series"`
	Resource   string   `json:"resource"`
	Namespace  string   `json:"namespace"`
	Extra      []string `json:"extra"`
	Selector   string   `json:"selector"`
	Names      []string `json:"names"`
	Query      *string  `json:"query"`
}

// The cases of metrics_query_test.go, then generated ones.
var queryTable = []queryRow{
	{Template: `series <<.Series>>`, Series: "foo"},
	{Template: `<<.LabelMatchers>>`, Resource: "resource", Names: []string{"bar", "baz"}},
	{Template: `<<.LabelMatchers>>`, Resource: "resource", Names: []string{"bar"}},
	{Template: `<<.LabelMatchers>>`, Selector: "metric1=value1", Resource: "resource", Names: []string{"bar"}},
	{Template: `<<index .LabelValuesByName "resource">>`, Resource: "resource", Names: []string{"bar"}},
	{Template: `<<index .LabelValuesByName "resource">>`, Resource: "resource", Names: []string{"bar", "baz"}},
	{Template: `<<index .LabelValuesByName "namespaces">> <<index .LabelValuesByName "resource">>`, Resource: "resource", Namespace: "default", Names: []string{"bar", "baz"}},
	{Template: `<<.GroupBy>>`, Resource: "resource"},
	{Template: `<<.GroupBy>>`, Resource: "resource", Extra: []string{"extra", "groups"}},
	{Template: `<<.GroupBySlice>>`, Resource: "resource"},
	{Template: `<<.GroupBySlice>>`, Resource: "resource", Extra: []string{"extra", "groups"}},
	{External: true, Namespaced: true, Template: `series <<.Series>>`, Series: "foo"},
	{External: true, Namespaced: true, Template: `<<index .LabelValuesByName "namespaces">> <<.GroupBySlice>>`, Namespace: "default"},
	{External: true, Template: `<<index .LabelValuesByName "namespaces">> <<.GroupBySlice>>`, Namespace: "default"},
	{External: true, Namespaced: true, Template: `<<.LabelMatchers>>`, Selector: "foo=bar"},
	{External: true, Namespaced: true, Template: `<<.LabelMatchers>>`, Namespace: "default", Selector: "foo=bar"},
	{External: true, Namespaced: true, Template: `<<.LabelMatchers>>`, Selector: "foo=bar,qux in (bar,baz)"},
	{External: true, Namespaced: true, Template: `<<.LabelValuesByName>>`, Selector: "foo=bar"},
	{External: true, Namespaced: true, Template: `<<.LabelValuesByName>>`, Selector: "foo=bar,qux in (bar,baz)"},
}

var queryTemplates = []string{
	`sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)`,
	`sum(rate(<<.Series>>{<<.LabelMatchers>>,container!="POD"}[5m])) by (<<.GroupBy>>)`,
	`<<.LabelMatchers>> <<.LabelValuesByName>> <<.GroupBySlice>>`,
	`avg(<<.Series>>{namespace="<<index .LabelValuesByName "namespaces">>"}) by (<<range $i, $l := .GroupBySlice>><<if $i>>,<<end>><<$l>><<end>>)`,
	`<<if .LabelMatchers>><<.Series>>{<<.LabelMatchers>>}<<end>>`,
	`<<.Series>><<.Foo>>`,
	``,
}

func queries() []any {
	random := rand.New(rand.NewSource(3))
	rows := append([]queryRow{}, queryTable...)
	for range 450 {
		rows = append(rows, randomQuery(random))
	}
	out := []any{}
	for _, row := range rows {
		row.Query = built(row)
		out = append(out, row)
	}
	return out
}

func randomQuery(random *rand.Rand) queryRow {
	pick := func(values ...string) string { return values[random.Intn(len(values))] }
	terms := []string{}
	for range random.Intn(4) {
		key, value := pick("app", "code", "x.y/z", "namespaces", "pods", "le"), pick("a", "web.server", "v-1", "", "x_y")
		terms = append(terms, pick(
			key+"="+value, key+"=="+value, key+"!="+value, key+" in ("+value+",b)", key+" in ("+value+")", key+" notin (c,"+value+")", key+" notin (q)", key, "!"+key, key+">5", key+"<3", key+" in (z,a,m)",
		))
	}
	names := []string{}
	for range random.Intn(4) {
		names = append(names, pick("web-0", "web-1", "a.b", "c", "quote\"d", "back\\slash"))
	}
	extra := []string{}
	if random.Intn(4) == 0 {
		extra = append(extra, "container")
	}
	return queryRow{
		External: random.Intn(3) == 0, Namespaced: random.Intn(3) > 0,
		Template: pick(queryTemplates...), Series: pick("http_requests_total", "up", ":rule:x"), Resource: pick("pods", "services", "nodes"),
		Namespace: pick("", "default", "kube-system"), Extra: extra, Selector: strings.Join(terms, ","), Names: names,
	}
}

func built(row queryRow) *string {
	selector, err := labels.Parse(row.Selector)
	if err != nil {
		return nil
	}
	var query prom.Selector
	if row.External {
		built := must(naming.NewExternalMetricsQuery(row.Template, labelIsResource{}, row.Namespaced))
		query, err = built.BuildExternal(row.Series, row.Namespace, "", []string{}, selector)
	} else {
		built := must(naming.NewMetricsQuery(row.Template, labelIsResource{}))
		query, err = built.Build(row.Series, schema.GroupResource{Resource: row.Resource}, row.Namespace, row.Extra, selector, row.Names...)
	}
	if err != nil {
		return nil
	}
	text := string(query)
	return &text
}
