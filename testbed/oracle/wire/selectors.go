package main

import (
	"encoding/json"
	"math/rand"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The label sets every accepted selector is tried on; `matches` has one character for each.
var labelSets = []labels.Set{
	{},
	{"app": "web"},
	{"app": "db", "tier": "back"},
	{"app": "", "tier": "front"},
	{"x": "5", "in": "in"},
	{"x": "-6", "y": "07"},
	{"x": "9223372036854775808", "y": "z"},
	{"example.com/app": "web", "app": "web", "x": "6"},
}

type selectorRow struct {
	Text        string          `json:"text"`
	Error       string          `json:"error,omitempty"`
	String      string          `json:"string,omitempty"`
	Matches     string          `json:"matches,omitempty"`
	Object      json.RawMessage `json:"object,omitempty"`
	ObjectError string          `json:"objectError,omitempty"`
	GoString    string          `json:"goString,omitempty"`
}

func selectors() []any {
	rows := []any{map[string]any{"labelSets": labelSets}}
	seen := map[string]bool{}
	for _, text := range append(pickedSelectors(), randomSelectors(900)...) {
		if !seen[text] {
			seen[text] = true
			rows = append(rows, readSelector(text))
		}
	}
	return rows
}

func readSelector(text string) selectorRow {
	selector, err := labels.Parse(text)
	if err != nil {
		return selectorRow{Text: text, Error: err.Error()}
	}
	row := selectorRow{Text: text, String: selector.String(), Matches: matches(selector)}
	object, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		row.ObjectError = err.Error()
		return row
	}
	row.Object = marshal(object)
	row.GoString = object.String()
	return row
}

func matches(selector labels.Selector) string {
	var found strings.Builder
	for _, set := range labelSets {
		if selector.Matches(set) {
			found.WriteByte('1')
		} else {
			found.WriteByte('0')
		}
	}
	return found.String()
}

func pickedSelectors() []string {
	long := strings.Repeat("a", 63)
	return []string{
		"", " ", "app", "!app", "! app", "app=web", "app==web", "app!=web", "app = web", "app=", "app==", "app!=", "app in (web)",
		"app in (web,db)", "app in (db,web,db)", "app in ()", "app in (,)", "app in (,,)", "app in (web,)", "app in (,web)",
		"app in (web,,db)", "app notin (web)", "app notin (web, db)", "app notin ()", "x>5", "x<5", "x > 5", "x>-5", "x>a",
		"x>", "x>5.5", "x gt 5", "x>9223372036854775807", "x>9223372036854775808", "y>6", "y<8", "x>+5", "x<07",
		"app=web,tier=back", "tier=back,app=web", "app=web,app=db", "app=web,app!=web", "app=web,", ",app=web", "app,,tier",
		"app=web tier=back", "app web", "app in", "app in web", "app in (", "app in (web", "app in (web db)", "app in web)",
		"app in (web))", "app notin web", "app in ((web))", "app in (=)", "app in (!web)", "app=(web)", "(app)", "app)",
		"!app=web", "!!app", "!", "=", "=web", "==", "!=", "!=web", ">5", "in", "notin", "in in (in)", "notin notin (notin)",
		"in=in", "in!=notin", "in", "!in", "in in (in,notin)", "app===web", "app=!web", "app!==web", "app=web=db", "app<>web",
		"app>=5", "app\tin\n(web\r)", "example.com/app=web", "example.com/app in (web)", "Example.com/app=web", "/app=web",
		"example.com/=web", "a/b/c=web", "example.com/app/x", "-app=web", "app-=web", "app=-web", "app=web-", "app=_", "app=.",
		"a.b_c-d=a.b_c-d", long + "=" + long, long + "a=b", "a=" + long + "a", strings.Repeat("a", 254) + "/b=c",
		strings.Repeat("a.", 126) + "a/b=c", "app=wéb", "äpp=web", "app=web\x01", "app=\"web\"", "app='web'", "a*=b", "app=*",
		"app=a;b", "app=a&b", "app in (a|b)", "app=a%20b", "app=web,!tier,x in (5,6),y notin (z),in", "x>4,x<6", "!x,x", "=,",
	}
}

// Words and symbols at random: what a grammar does with nonsense is part of it.
func randomSelectors(count int) []string {
	random := rand.New(rand.NewSource(20261121))
	words := []string{
		"app", "tier", "x", "y", "in", "notin", "web", "db", "5", "-1", "", " ", ",", ",", "=", "==", "!=", "!", "(", ")", ">",
		"<", " in ", " notin ", " in (web,db)", " notin (back)", "=web", "!=db", ">5", "example.com/app",
	}
	texts := make([]string, 0, count)
	for len(texts) < count {
		var text strings.Builder
		for range 1 + random.Intn(7) {
			text.WriteString(words[random.Intn(len(words))])
		}
		texts = append(texts, text.String())
	}
	return texts
}

type objectRow struct {
	Object   *metav1.LabelSelector `json:"object"`
	Error    string                `json:"error,omitempty"`
	String   string                `json:"string"`
	Matches  string                `json:"matches,omitempty"`
	GoString string                `json:"goString"`
}

func selectorObjects() []any {
	expression := func(key, operator string, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: key, Operator: metav1.LabelSelectorOperator(operator), Values: values},
		}}
	}
	objects := []*metav1.LabelSelector{
		nil,
		{},
		{MatchLabels: map[string]string{"app": "web"}},
		{MatchLabels: map[string]string{"tier": "back", "app": "db"}},
		{MatchLabels: map[string]string{"app": ""}},
		{MatchLabels: map[string]string{"a b": "c"}},
		{MatchLabels: map[string]string{"app": "-"}},
		{MatchLabels: map[string]string{"-": "-"}},
		{
			MatchLabels: map[string]string{"app": "web", "in": "in"},
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "x", Operator: "In", Values: []string{"6", "5"}},
				{Key: "tier", Operator: "DoesNotExist"},
				{Key: "app", Operator: "NotIn", Values: []string{"db"}},
			},
		},
		expression("app", "In", "web", "db"), expression("app", "In"), expression("app", "NotIn"),
		expression("app", "NotIn", "web"), expression("app", "Exists"), expression("app", "Exists", "web"),
		expression("app", "DoesNotExist"), expression("app", "DoesNotExist", "web", "db"), expression("app", "Gt", "5"),
		expression("app", "in", "web"), expression("app", ""), expression("app", "a\"b"), expression("", "Exists"),
		expression("app", "In", ""), expression("app", "In", "-", "-"), expression("app", "In", "b", "-", "a b"),
		expression("-", "In"), expression("app", "In", "web", "web"),
	}
	rows := []any{}
	for _, object := range objects {
		row := objectRow{Object: object, GoString: object.String()}
		selector, err := metav1.LabelSelectorAsSelector(object)
		if err != nil {
			row.Error = err.Error()
		} else {
			row.String, row.Matches = selector.String(), matches(selector)
		}
		rows = append(rows, row)
	}
	return rows
}

func marshal(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
