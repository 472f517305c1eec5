package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"

	"sigs.k8s.io/prometheus-adapter/pkg/config"
	"sigs.k8s.io/yaml"
)

type configurationRow struct {
	Text string `json:"text"`
	// What prometheus-adapter reads; null where it refuses the file.
	Configuration *config.MetricsDiscoveryConfig `json:"configuration"`
	// The same text as Helm, kubectl and Kubernetes read it, without structs; null where they refuse it.
	Document json.RawMessage `json:"document"`
}

// What separates tokens, and anchors that are defined again.
var syntaxTable = []string{
	"rules:\n- seriesQuery:\tup\n", "rules:\n- seriesQuery: up\t# all\n", "rules:\n- seriesQuery: up\t\n", "rules:\n- seriesQuery: \"up\"\t\n", "rules:\t\n- seriesQuery: up\n",
	"rules:\n- name: {matches:\ta,\tas: b\t}\n", "{\n\t\"rules\": [\n\t\t{\n\t\t\t\"seriesQuery\": \"up\"\n\t\t}\n\t]\n}\n", "rules:\n- metricsQuery: |\t# text\n    a\n    \tb\t\n", "rules:\n- metricsQuery: a\tb\n",
	"rules:\n- metricsQuery: a\n    \tb\n", "rules:\n-\tseriesQuery: up\n", "rules:\n\t- seriesQuery: up\n", "rules:\n- seriesQuery: up\n\tname: {as: a}\n", "rules:\n\t# comment\n- seriesQuery: up\n", "rules:\n\t\n- seriesQuery: up\n",
	"rules:\n- seriesQuery: &a up\n  metricsQuery: &a sum\n- seriesQuery: *a\n", "rules:\n- seriesQuery: &a up\n  metricsQuery: *a\n- seriesQuery: &a down\n  metricsQuery: *a\n", "rules:\n- &a {seriesQuery: up, name: &a {as: b}}\n- name: *a\n",
	"rules:\n- seriesQuery: *a\n", "rules:\n- metricsQuery: \"a\\/b\"\n", "rules:\n- metricsQuery: \"\\ud83d\\ude00\"\n", "rules:\n- name: {matches: a?b}\n", "rules:\n- name: {matches: ^(?:a|b)$}\n",
}

// Merges beside what the random ones contain.
var mergeTable = []string{
	"rules:\n- &a {seriesQuery: up}\n- {<<: [*a, up]}\n", "rules:\n- &a {seriesQuery: up}\n- {<<: up}\n", "rules:\n- &a {seriesQuery: up}\n- {<<: }\n", "rules:\n- &a {seriesQuery: up}\n- {\"<<\": *a}\n",
	"rules:\n- &a {seriesQuery: up}\n- {!!merge \"<<\": *a}\n", "rules:\n- {seriesQuery: a, <<: {seriesQuery: b}}\n", "rules:\n- {<<: {unknown: b}}\n", "rules:\n- {<<: {name: {as: a}}, <<: {name: {matches: b}}}\n",
	"rules:\n- {<<: {name: {as: a}}, name: null, <<: {name: {matches: b}}}\n", "rules:\n- {<<: {resources: {overrides: {a: {resource: pod, group: g}}}}, resources: {overrides: {b: {resource: node}}}}\n",
	"rules:\n- {<<: {resources: {overrides: {a: {resource: pod}}}}, resources: {overrides: {a: {resource: node}}}}\n", "rules:\n- {<<: {resources: {overrides: {a: {resource: pod}}}}, resources: {overrides: null}}\n",
	"rules:\n- {<<: {resources: {overrides: {a: {resource: pod}}}}, resources: {overrides: {}}}\n", "rules:\n- resources: {overrides: {<<: {a: {resource: pod}}, a: {resource: node}}}\n", "rules:\n- resources: {overrides: {a: {<<: {resource: pod}, group: g}}}\n",
	"rules:\n- name: {<<: {as: a, matches: b}, as: }\n", "rules:\n- {<<: {name: {as: a}}, <<: {name: null, <<: {name: {matches: b}}}}\n", "resourceRules: {<<: {window: 1m, cpu: {containerQuery: a}}, cpu: {nodeQuery: b}}\n",
	"resourceRules: {<<: {window: 1m, cpu: &c {containerQuery: a}}, memory: {<<: *c, nodeQuery: b}}\n", "<<: {rules: [{seriesQuery: a}]}\nexternalRules: [{seriesQuery: b}]\n", "<<: {rules: [{seriesQuery: a}, {seriesQuery: b}]}\nrules: [{seriesQuery: c}]\n",
	"rules: [{seriesQuery: a}]\n<<: {resourceRules: {window: 1m}}\nresourceRules: {cpu: {nodeQuery: a}}\n",
}

func configurations() []any {
	random := rand.New(rand.NewSource(9))
	texts := append(append([]string{}, syntaxTable...), mergeTable...)
	for range 400 {
		texts = append(texts, mergedRules(random))
	}
	out := []any{}
	for _, text := range texts {
		row := configurationRow{Text: text}
		if found, err := config.FromYAML([]byte(text)); err == nil {
			row.Configuration = found
		}
		if found, err := yaml.YAMLToJSON([]byte(text)); err == nil {
			row.Document = found
		}
		out = append(out, row)
	}
	return out
}

// mergedRules are rules whose blocks have anchors, which later blocks of the same kind merge.
func mergedRules(random *rand.Rand) string {
	anchors := map[string][]string{}
	text := "rules:\n"
	for range 2 + random.Intn(3) {
		text += "- " + block(random, anchors, "rule") + "\n"
	}
	return text
}

func block(random *rand.Rand, anchors map[string][]string, kind string) string {
	fields := []string{}
	for _, field := range chosen(random, kind) {
		if known := anchors[kind]; len(known) > 0 && random.Intn(3) == 0 {
			fields = append(fields, "<<: "+merged(random, known))
		}
		fields = append(fields, field+": "+value(random, anchors, kind, field))
	}
	if known := anchors[kind]; len(known) > 0 && random.Intn(3) == 0 {
		fields = append(fields, "<<: "+merged(random, known))
	}
	// Known from here on: a block that contains itself is refused.
	name := fmt.Sprintf("%s%d", kind, len(anchors[kind]))
	anchors[kind] = append(anchors[kind], name)
	return "&" + name + " {" + strings.Join(fields, ", ") + "}"
}

func merged(random *rand.Rand, known []string) string {
	one := "*" + known[random.Intn(len(known))]
	if random.Intn(4) > 0 {
		return one
	}
	return "[" + one + ", *" + known[random.Intn(len(known))] + "]"
}

func chosen(random *rand.Rand, kind string) []string {
	known := map[string][]string{
		"rule":      {"seriesQuery", "metricsQuery", "name", "resources", "seriesFilters"},
		"name":      {"as", "matches"},
		"resources": {"template", "overrides", "namespaced"},
		"overrides": {"a", "b", "c", "d", "e", "f"},
		"resource":  {"resource", "group"},
	}[kind]
	found := []string{}
	for _, index := range random.Perm(len(known)) {
		if random.Intn(2) == 0 {
			found = append(found, known[index])
		}
	}
	return found
}

func value(random *rand.Rand, anchors map[string][]string, kind, field string) string {
	switch {
	case random.Intn(12) == 0:
		return "null"
	case kind == "overrides":
		return block(random, anchors, "resource")
	case field == "name" || field == "resources" || field == "overrides":
		return block(random, anchors, field)
	case field == "seriesFilters":
		return fmt.Sprintf("[{is: f%d}]", random.Intn(9))
	case field == "namespaced":
		return []string{"true", "false"}[random.Intn(2)]
	}
	return fmt.Sprintf("%s%d", field[:1], random.Intn(9))
}
