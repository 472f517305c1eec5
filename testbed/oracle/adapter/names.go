package main

import (
	"math/rand"

	prom "sigs.k8s.io/prometheus-adapter/pkg/client"
	"sigs.k8s.io/prometheus-adapter/pkg/config"
	"sigs.k8s.io/prometheus-adapter/pkg/naming"
)

type namingRow struct {
	Matches string               `json:"matches"`
	As      string               `json:"as"`
	Filters []config.RegexFilter `json:"filters"`
	Refused bool                 `json:"refused"`
	// The series that pass the filters, with their names in the API.
	Names map[string]string `json:"names"`
}

var seriesNames = []string{
	"http_requests_total", "http_requests_seconds_total", "container_cpu_usage_seconds_total", "container_memory_usage", "up", "job:rule:sum", "_x", "a_b_c", "total", "http_total_requests", "1x", "ns_metric_name",
}

var namingTable = []namingRow{
	{}, {Matches: "^(.*)_total$"}, {Matches: "_total$"}, {Matches: "^(.*)_seconds_total$", As: ""}, {Matches: "^container_(.*)_seconds_total$"},
	{Matches: "^(.*)_total$", As: "${1}_per_second"}, {Matches: "^(.*)_total$", As: "$1_per_second"}, {Matches: "(.*)_(.*)"}, {Matches: "(.*)_(.*)", As: "$2-$1"},
	{Matches: "(?P<first>[^_]*)_(?P<rest>.*)", As: "${rest}.${first}"}, {Matches: "(?P<first>[^_]*)_(?P<rest>.*)", As: "$rest$first"}, {Matches: "(?P<x>.*)"}, {Matches: "(?:http|container)_(.*)"},
	{Matches: "(a)?(.*)", As: "[$1][$2]"}, {As: "fixed"}, {As: "$0"}, {As: "$1"}, {As: "$$0"}, {As: "a$"}, {As: "${0}x"}, {As: "${0"}, {As: "$-"}, {As: "$ {0}"}, {As: "${}"}, {As: "$00"}, {As: "$01"}, {As: "${name}"}, {As: "a/b/$0"},
	{Matches: "(.*)", As: "$1$1"}, {Matches: "(.*)", As: "$1é"}, {Matches: "(.*)", As: "$1٣"}, {Matches: "(.*)", As: "${1}é$1²"}, {Matches: "(.*)", As: "$100000000000"}, {Matches: "(.*)", As: "$2"},
	{Matches: "(?i)HTTP_(.*)"}, {Matches: "["}, {Matches: "(?=x)"}, {Matches: "a**"}, {Matches: "\\d+"}, {Matches: "^[[:alpha:]_]+$"}, {Matches: "\\pL+"}, {Matches: "x{1001}"}, {Matches: "\\Qa_b\\E"}, {Matches: "(?s)."}, {Matches: "\\C"}, {Matches: "(?<n>.*)_total", As: "$n"},
	{Filters: []config.RegexFilter{{Is: "^http"}}}, {Filters: []config.RegexFilter{{IsNot: "^http"}}}, {Filters: []config.RegexFilter{{Is: "total"}, {IsNot: "seconds"}}}, {Filters: []config.RegexFilter{{Is: "a", IsNot: "b"}}},
	{Filters: []config.RegexFilter{{}}}, {Filters: []config.RegexFilter{{Is: "("}}}, {Matches: "^(.*)_total$", Filters: []config.RegexFilter{{IsNot: "^container_.*"}}}, {Matches: "(?P<a>x)(?P<a>y)"}, {Matches: ".*?_", As: "$0!"},
}

func names() []any {
	random := rand.New(rand.NewSource(4))
	rows := append([]namingRow{}, namingTable...)
	patterns := []string{"^(.*)_total$", "(?P<a>[a-z]+)_(?P<b>[a-z]+)", "(.)(.)(.)", "^([^_]+)(_.*)?$", "()(x)?"}
	parts := []string{"$", "{", "}", "0", "1", "2", "3", "a", "b", "_", "x", "$1", "${a}", "$$", "-", "${b}_", "12"}
	for range 300 {
		as := ""
		for range 1 + random.Intn(5) {
			as += parts[random.Intn(len(parts))]
		}
		rows = append(rows, namingRow{Matches: patterns[random.Intn(len(patterns))], As: as})
	}
	out := []any{}
	for _, row := range rows {
		out = append(out, named(row))
	}
	return out
}

func named(row namingRow) namingRow {
	rule := config.DiscoveryRule{SeriesQuery: "x", SeriesFilters: row.Filters, Name: config.NameMapping{Matches: row.Matches, As: row.As}, MetricsQuery: "x"}
	namers, err := naming.NamersFromConfig([]config.DiscoveryRule{rule}, mapper())
	if err != nil {
		row.Refused = true
		return row
	}
	row.Names = map[string]string{}
	for _, name := range seriesNames {
		for _, series := range namers[0].FilterSeries([]prom.Series{{Name: name}}) {
			if found, err := namers[0].MetricNameForSeries(series); err == nil {
				row.Names[name] = found
			}
		}
	}
	return row
}
