package main

import (
	"bytes"
	"log"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
)

const pathDocument = `{
  "kind": "List",
  "count": 3,
  "share": 1.5,
  "whole": 2.0,
  "none": null,
  "items": [
    {"name": "web", "ready": true, "replicas": 3, "labels": {"app.kubernetes.io/name": "web", "tier": "front"}, "ports": [80, 443]},
    {"name": "worker", "ready": false, "replicas": 0, "labels": {"tier": "back"}, "ports": [9090], "note": "it's \"quoted\""},
    {"name": "ünï", "ready": false, "replicas": 12, "labels": {}, "ports": [1], "note": null}
  ],
  "empty": [],
  "nested": [[1, 2], [3]]
}`

type pathRow struct {
	Template string `json:"template"`
	// Null where kubectl fails.
	Output *string `json:"output"`
}

var pathTable = []string{
	"", "plain", "plain } text", "{", "}", "{}", "{ }", "{.kind", "a{.kind}b", "{.kind}{.count}", "{.kind} {.count}\n", `{"{"}`, `{"}"}`, `{'it is'}`, `{"\n"}`, `{"\t"}`, `{'\''}`, `{"\""}`, `{"\\"}`,
	"{.kind}", "{ .kind }", "{$.kind}", "{@.kind}", "{.missing}", "{.missing.deeper}", "{.kind.deeper}", "{kind}", "{.items.name}", "{.count}", "{.share}", "{.whole}", "{.none}", "{.none.deeper}",
	"{.items[0].name}", "{.items[1].name}", "{.items[-1].name}", "{.items[-3].name}", "{.items[-4].name}", "{.items[3].name}", "{.items[*].name}", "{.items[0:2].name}", "{.items[:2].name}", "{.items[1:].name}", "{.items[-2:].name}",
	"{.items[::2].name}", "{.items[0:3:2].name}", "{.items[:-1].name}", "{.items[2:1].name}", "{.items[1:1].name}", "{.items[0:9].name}", "{.items[::0].name}", "{.items[::-1].name}", "{.items[:].name}", "{.items[x].name}", "{.items[0,2].name}", "{.items[0, 2].name}", "{.items[-1,0].name}",
	"{.items['name']}", "{.items[0]['name']}", "{.items[0]['labels']['tier']}", "{.items[0]['labels.tier']}", "{.items[*]['name','replicas']}", "{.items[*]['name', 'labels.tier']}", `{.items[0]["name"]}`,
	`{.items[0].labels.app\.kubernetes\.io/name}`, `{.items[0].labels['app\.kubernetes\.io/name']}`, "{.items[0].labels.app.kubernetes.io/name}", "{.items[0].labels.*}", "{.items[2].labels.*}", "{.items[2].labels}",
	"{.items[0].ready}", "{.items[1].ready}", "{.items[0].ports}", "{.items[0].ports[*]}", "{.items[*].ports[*]}", "{.items[*].ports[0]}", "{.items[*].ports[1]}", "{.items[1].labels}", "{.kind[0]}", "{.count[0]}", "{.items[0].labels[0]}", "{.none[0]}",
	"{.empty}", "{.empty[*]}", "{.empty[0]}", "{.empty[*].name}", "{.nested}", "{.nested[*]}", "{.nested[*][0]}", "{.nested[*][*]}", "{.nested.*}", "{.items.*.name}", "{.items[*].*[0]}",
	"{..name}", "{..tier}", "{..ports}", "{..ports[0]}", "{..labels.tier}", "{.items..tier}", "{.items[0]..tier}", "{..missing}", "{...name}", "{....name}", "{..items[0].name}",
	`{.items[?(@.name=="web")].replicas}`, `{.items[?(@.name=='web')].replicas}`, `{.items[?(@.name!="web")].name}`, `{.items[?(@.replicas>2)].name}`, `{.items[?(@.replicas>=3)].name}`, `{.items[?(@.replicas<3)].name}`, `{.items[?(@.replicas<=3)].name}`, `{.items[?(@.replicas==0)].name}`,
	`{.items[?(@.ready==true)].name}`, `{.items[?(@.ready==false)].name}`, `{.items[?(@.ready)].name}`, `{.items[?(@.note)].name}`, `{.items[?(@.labels.tier)].name}`, `{.items[?(@.missing=="x")].name}`, `{.items[?(@.name>"web")].name}`, `{.items[?(@.labels.tier=="back")].name}`,
	`{.items[?(@.name == "web")].name}`, `{.items[?( @.name=="web" )].name}`, `{.items[?(@.name<>"web")].name}`, `{.items[?(@.name=~"w")].name}`, `{.items[?(@.name==3)].name}`, `{.items[?(@.ports[0]>100)].name}`, `{.items[?(@.ports[*]>100)].name}`, `{.items[?(@..tier=="back")].name}`,
	`{.nested[*][?(@>1)]}`, `{.nested[?(@[0]==3)]}`, `{.kind[?(@.name=="x")]}`, `{.items[?(@.name=="a)b")].name}`, `{.items[?(@.name=="web"].name}`, `{.items[?(@.name=="web")}`, `{.items[?("web"==@.name)].replicas}`, `{.items[?(@.labels.app\.kubernetes\.io/name=="web")].name}`,
	`{.items[?(@.labels=="x")].name}`, `{.items[?(@.name=="")].name}`,
	"{range .items[*]}{.name}{end}", `{range .items[*]}{.name}{"\n"}{end}`, "{range .items[*]}{.name} {end}.", `{range .items[*]}{.name}={.replicas}{"\t"}{.ready}{"\n"}{end}`, "{range .items[*]}[{.name}, {.ports}] {end}{.kind}", "{range .items[*]}{range .ports[*]}{@},{end};{end}",
	"{range .items[*]}{.name}:{range .ports[*]}{@} {end}{end}{.kind}", "{range .empty[*]}{.name}{end}after", "{range .empty[*]}{range .ports[*]}{@}{end}x{end}after", "{range .missing}{.name}{end}after", "{range .items[*]}{.name}", "{.name}{end}", "{end}", "{range}{.kind}{end}", "{range .items[0]}{.name}{end}",
	"{range .items[*].ports[*]}<{@}>{end}", "{range .items[?(@.replicas>0)]}{.name} {end}", "{range .items[*]}{.missing}-{end}", "{range .items}{.name}{end}", "{range .items[*]}{$.kind}{end}", "{range .items[*]}{.name}{end}{range .nested[*]}{@[0]}{end}", "{ range .items[*] }{ .name }{ end }", `{range .items[*]}{"{"}{.name}{"}"}{end}`,
	"{1}", "{-2}", "{1.5}", "{true}", "{false}", "{null}", "{.items[0].name .kind}", "{.items[0] .name}", "{.kind,.count}", "{#}", "{.items[}", "{.items[0}", `{"open}`, "{.items[*].name}{.items[9].name}", "{[0]}", "{['kind']}",
}

func paths() []any {
	var document any
	if err := json.Unmarshal([]byte(pathDocument), &document); err != nil {
		log.Fatal(err)
	}
	rows := []any{map[string]any{"document": document}}
	for _, template := range pathTable {
		rows = append(rows, pathRow{Template: template, Output: printed(template, document)})
	}
	return rows
}

// As kubectl prints an object with -o jsonpath=TEMPLATE.
func printed(template string, document any) *string {
	path := jsonpath.New("out").AllowMissingKeys(true)
	if path.Parse(template) != nil {
		return nil
	}
	var output bytes.Buffer
	if path.Execute(&output, document) != nil {
		return nil
	}
	text := output.String()
	return &text
}
