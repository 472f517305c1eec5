package main

import (
	"encoding/json"
	"log"
	"os"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

type mappingRow struct {
	Resource   string `json:"resource"`
	Version    string `json:"version"`
	Namespaced bool   `json:"namespaced"`
}

// A case is either a partial resource or a kind of a group.
type nameRow struct {
	Group    string       `json:"group"`
	Version  string       `json:"version"`
	Resource string       `json:"resource"`
	Kind     string       `json:"kind"`
	Found    []string     `json:"found"`    // group, version, resource
	Singular string       `json:"singular"` // of the resource alone
	Mappings []mappingRow `json:"mappings"` // of the kind
	Error    string       `json:"error"`
}

func names(path string) []any {
	mapper := restmapper.NewDiscoveryRESTMapper(discovered(path))
	rows := []any{}
	for _, row := range nameRows(path) {
		if row.Kind != "" {
			rows = append(rows, kindAnswered(mapper, row))
		} else {
			rows = append(rows, resourceAnswered(mapper, row))
		}
	}
	return rows
}

func resourceAnswered(mapper meta.RESTMapper, row nameRow) nameRow {
	found, err := mapper.ResourceFor(schema.GroupVersionResource{Group: row.Group, Version: row.Version, Resource: row.Resource})
	switch {
	case meta.IsNoMatchError(err):
		row.Error = err.Error()
	case err != nil:
		row.Error = "ambiguous"
	default:
		row.Found = []string{found.Group, found.Version, found.Resource}
	}
	if singular, err := mapper.ResourceSingularizer(row.Resource); err == nil {
		row.Singular = singular
	}
	return row
}

func kindAnswered(mapper meta.RESTMapper, row nameRow) nameRow {
	mappings, err := mapper.RESTMappings(schema.GroupKind{Group: row.Group, Kind: row.Kind})
	if err != nil {
		row.Error = err.Error()
		return row
	}
	for _, mapping := range mappings {
		row.Mappings = append(row.Mappings, mappingRow{
			Resource: mapping.Resource.Resource, Version: mapping.Resource.Version,
			Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
		})
	}
	return row
}

func documents(path string) map[string]json.RawMessage {
	content, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	found := map[string]json.RawMessage{}
	if err := json.Unmarshal(content, &found); err != nil {
		log.Fatal(err)
	}
	return found
}

func decoded(from json.RawMessage, into any) {
	if err := json.Unmarshal(from, into); err != nil {
		log.Fatal(err)
	}
}

func discovered(path string) []*restmapper.APIGroupResources {
	from := documents(path)
	core := metav1.APIVersions{}
	decoded(from["/api"], &core)
	groups := metav1.APIGroupList{}
	decoded(from["/apis"], &groups)
	legacy := metav1.APIGroup{}
	for _, version := range core.Versions {
		legacy.Versions = append(legacy.Versions, metav1.GroupVersionForDiscovery{GroupVersion: version, Version: version})
	}
	legacy.PreferredVersion = legacy.Versions[0]
	result := []*restmapper.APIGroupResources{}
	for _, group := range append([]metav1.APIGroup{legacy}, groups.Groups...) {
		one := &restmapper.APIGroupResources{Group: group, VersionedResources: map[string][]metav1.APIResource{}}
		for _, version := range group.Versions {
			prefix := "/apis/"
			if group.Name == "" {
				prefix = "/api/"
			}
			list := metav1.APIResourceList{}
			decoded(from[prefix+version.GroupVersion], &list)
			one.VersionedResources[version.Version] = list.APIResources
		}
		result = append(result, one)
	}
	return result
}

func nameRows(path string) []nameRow {
	rows := map[nameKey]nameRow{}
	add := func(row nameRow) { rows[nameKey{row.Group, row.Version, row.Resource, row.Kind}] = row }
	for _, group := range discovered(path) {
		name := group.Group.Name
		partial := name
		if dot := strings.Index(name, "."); dot > 0 {
			partial = name[:dot]
		}
		for version, resources := range group.VersionedResources {
			for _, resource := range resources {
				plural, singular := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: resource.Kind})
				lists, list := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: resource.Kind + "List"})
				texts := append([]string{
					resource.Name, resource.SingularName, strings.ToUpper(resource.Name), plural.Resource, singular.Resource, lists.Resource, list.Resource,
				}, resource.ShortNames...)
				for _, text := range texts {
					if text == "" {
						continue
					}
					add(nameRow{Resource: text})
					add(nameRow{Group: name, Resource: text})
					add(nameRow{Group: partial, Resource: text})
					add(nameRow{Version: version, Resource: text})
					if !strings.EqualFold(text, "thing") { // two by that name: upstream takes either, at random
						add(nameRow{Group: name, Version: version, Resource: text})
					}
					add(nameRow{Group: name, Version: "v9", Resource: text})
				}
				for _, kind := range []string{resource.Kind, strings.ToLower(resource.Kind), strings.ToUpper(resource.Kind)} {
					add(nameRow{Group: name, Kind: kind})
					add(nameRow{Group: partial, Kind: kind})
				}
			}
		}
	}
	for _, text := range []string{"list", "lists", "nothing", "Pod s"} {
		add(nameRow{Resource: text})
	}
	result := []nameRow{}
	for _, row := range rows {
		result = append(result, row)
	}
	sort.Slice(result, func(i, j int) bool {
		a, b := result[i], result[j]
		return strings.Join([]string{a.Kind, a.Resource, a.Group, a.Version}, "|") < strings.Join([]string{b.Kind, b.Resource, b.Group, b.Version}, "|")
	})
	return result
}

type nameKey struct{ group, version, resource, kind string }
