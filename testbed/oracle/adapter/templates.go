package main

import (
	"bytes"
	"math/rand"
	"strings"
	"text/template"

	prom "sigs.k8s.io/prometheus-adapter/pkg/client"
)

// What metricsQuery is rendered with (naming.queryTemplateArgs is not exported).
type templateArguments struct {
	Series            string
	LabelMatchers     string
	LabelValuesByName map[string]string
	GroupBy           string
	GroupBySlice      []string
}

var argumentSets = []templateArguments{
	{
		Series:            "http_requests_total",
		LabelMatchers:     `namespace="default",pod=~"a|b"`,
		LabelValuesByName: map[string]string{"pod": "a|b", "namespace": "default", "": "none"},
		GroupBy:           "pod,container",
		GroupBySlice:      []string{"pod", "container", "ünïcode"},
	},
	{LabelValuesByName: map[string]string{}, GroupBySlice: []string{}},
}

type templateRow struct {
	Template string `json:"template"`
	// Per set of arguments the text, or null where the template fails. Absent when it does not parse.
	Outputs []*string `json:"outputs"`
}

var templateTable = []string{
	"", "plain", "<<.Series>>", "<< .Series >>", "a<<- .Series ->>b", "a <<- .Series ->> b", "a\n\t <<- .Series ->>\r\n b",
	"<<.LabelMatchers>>", "<<.GroupBy>>", "<<.GroupBySlice>>", "<<.LabelValuesByName>>", "<<.>>", "<<$>>", "<<$.Series>>",
	"sum(rate(<<.Series>>{<<.LabelMatchers>>}[5m])) by (<<.GroupBy>>)",
	`<<index .LabelValuesByName "namespace">>`, `<<index .LabelValuesByName "missing">>|`, `<<index .GroupBySlice 0>>`,
	`<<index .GroupBySlice 5>>`, `<<index .GroupBySlice -1>>`, `<<index .GroupBySlice "x">>`, `<<index .LabelValuesByName 1>>`,
	`<<index .Series 0>>`, `<<index .Series>>`, `<<index>>`, `<<index 1 2>>`, `<<index .GroupBySlice 0 1>>`, `<<index .LabelValuesByName "pod" 0>>`,
	"<<.LabelValuesByName.namespace>>", "<<.LabelValuesByName.missing>>", "<<.LabelValuesByName.missing.deeper>>", "<<.Missing>>", "<<.Series.Foo>>",
	"<<.GroupBySlice.Foo>>", "<<$.LabelValuesByName.pod>>", `<<(index .GroupBySlice 0)>>`, `<<(index .LabelValuesByName "pod").X>>`, "<<(.LabelValuesByName).pod>>",
	"<<range .GroupBySlice>><<.>>,<<end>>", "<<range $i, $e := .GroupBySlice>><<if $i>>,<<end>><<$e>><<end>>", "<<range $e := .GroupBySlice>>[<<$e>>]<<end>>",
	"<<range $k, $v := .LabelValuesByName>><<$k>>=<<$v>>;<<end>>", "<<range .LabelValuesByName>><<.>>;<<end>>", "<<range .GroupBySlice>>x<<else>>empty<<end>>",
	"<<range .Series>>x<<end>>", "<<range .LabelValuesByName.missing>>x<<else>>none<<end>>", "<<range .GroupBySlice>><<if eq . \"pod\">><<continue>><<end>><<.>><<break>><<end>>",
	"<<range $i, $e := .GroupBySlice>><<$.Series>><<$i>><<end>>", "<<range $e = .GroupBySlice>>x<<end>>", "<<$x := 1>><<range $x = .GroupBySlice>><<$x>><<end>><<$x>>",
	"<<$i := 7>><<$e := 8>><<range $i, $e = .GroupBySlice>><<$i>><<$e>> <<end>><<$i>><<$e>>",
	"<<if .Series>>yes<<end>>", "<<if .Series>>yes<<else>>no<<end>>", "<<if eq .Series \"\">>a<<else if .GroupBy>>b<<else>>c<<end>>", "<<if not .Series>>no<<end>>",
	"<<if and .Series .GroupBy>>both<<end>>", "<<if or .Series \"x\">>one<<end>>", "<<and .Series .GroupBy>>", "<<or .Series .GroupBy \"fallback\">>", "<<and>>", "<<or>>",
	"<<and .Series (index .GroupBySlice 9)>>", "<<or .Series (index .GroupBySlice 9)>>", "<<.Series | and 1>>", "<<.Series | or 0>>", "<<not>>", "<<not 1 2>>", "<<not 0>> <<not \"\">> <<not .GroupBySlice>>",
	"<<with .Series>><<.>><<end>>", "<<with .Series>><<.>><<else>>none<<end>>", "<<with $x := .GroupBy>><<$x>><<.>><<end>>", "<<with .GroupBySlice>><<index . 0>><<end>>", "<<with .LabelValuesByName>><<.pod>><<end>>",
	"<<with .Series>><<$.GroupBy>><<end>>", "<<with \"\">>a<<else with \"b\">><<.>><<end>>", "<<with \"\">>a<<else if true>>b<<end>>",
	"<<len .Series>>", "<<len .GroupBySlice>>", "<<len .LabelValuesByName>>", "<<len 3>>", "<<len \"ü\">>", "<<.Series | len>>", "<<.Series | len | printf \"%03d\">>", "<<len .LabelValuesByName.missing>>",
	"<<eq .Series \"http_requests_total\">>", "<<eq 1 1>>", "<<eq 1 2 3 1>>", "<<eq 1 1.0>>", "<<eq 1 \"1\">>", "<<eq .Series .GroupBySlice>>", "<<eq .GroupBySlice .GroupBySlice>>", "<<eq 1>>", "<<eq>>", "<<eq true true>>",
	"<<eq .LabelValuesByName.missing \"\">>", "<<eq .LabelValuesByName.missing .LabelValuesByName.missing>>", "<<ne 1 2>>", "<<ne \"a\" \"a\">>", "<<ne 1>>", "<<ne 1 2 3>>", "<<eq .LabelValuesByName .GroupBySlice>>",
	"<<lt 1 2>><<le 2 2>><<gt 1 2>><<ge 2 2>>", "<<lt \"a\" \"b\">>", "<<lt 1.5 2.5>>", "<<lt 1 2.5>>", "<<lt true false>>", "<<lt .GroupBySlice 1>>", "<<lt \"a\" 1>>", "<<le true true>>", "<<gt .Series \"a\">>", "<<lt .LabelValuesByName.missing 1>>",
	"<<print .Series 1 2 \"x\" 3>>", "<<print>>", "<<print 1 2>>", "<<print \"a\" \"b\">>", "<<print .GroupBySlice .LabelValuesByName>>", "<<println .Series 1>>", "<<println>>", "<<print .LabelValuesByName.missing>>", "<<print true false>>",
	"<<printf \"%s\" .Series>>", "<<printf \"%s|%s\" .Series>>", "<<printf \"%s\" .Series .GroupBy>>", "<<printf \"%d\" .Series>>", "<<printf \"%s\" 5>>", "<<printf \"%v %v %v\" 1 true 1.5>>", "<<printf \"%%\">>", "<<printf \"%\">>", "<<printf \"x\" 1 \"b\">>",
	"<<printf \"%q\" .LabelMatchers>>", "<<printf \"%q\" .GroupBySlice>>", "<<printf \"%v\" .LabelValuesByName>>", "<<printf \"%s\" .GroupBySlice>>", "<<printf \"%d\" .GroupBySlice>>", "<<printf \"%x\" .Series>>", "<<printf \"%X\" \"hi\">>", "<<printf \"% x\" \"hi\">>", "<<printf \"%#x\" \"hi\">>",
	"<<printf \"%5d|%-5d|%05d|%+d|% d\" 42 42 42 42 42>>", "<<printf \"%10s|%-10s|%.3s|%10.3s\" .Series .Series .Series .Series>>", "<<printf \"%x %X %#x %o %b %c %U\" 255 255 255 8 5 65 8364>>", "<<printf \"%t\" true>>", "<<printf \"%t\" 1>>",
	"<<printf \"%f %.2f %e %g\" 1.5 1.5 1.5 1.5>>", "<<printf \"%8.3f|%-8.3f|%08.3f\" 3.14159 3.14159 3.14159>>", "<<printf \"%z\" 1>>", "<<printf \"%s\" .LabelValuesByName.missing>>", "<<printf \"%v\" .LabelValuesByName.missing>>", "<<printf \"%T %T %T\" 1 \"a\" 1.5>>", "<<printf \"%q\" 'a'>>",
	"<<printf 1>>", "<<printf>>", "<<printf .Series>>", "<<.GroupBy | printf \"by (%s)\">>", "<<.GroupBy | printf \"%s %s\" .Series>>", "<<printf \"%-05d|\" 42>>", "<<printf \"%5t|\" true>>", "<<printf \"%.2d|%5.3d\" 7 7>>", "<<printf \"%v\" 1e6>>", "<<printf \"%5q|\" \"a\">>", "<<printf \"%s\" true>>", "<<printf \"%d\" 1.5>>",
	"<<1>>", "<<-1>>", "<<- 1>>", "<<+1>>", "<<0x1F>>", "<<0b101>>", "<<0o17>>", "<<017>>", "<<1_000>>", "<<'a'>>", "<<'\\n'>>", "<<'\\x41'>>", "<<'ab'>>", "<<1.5>>", "<<1e3>>", "<<1e20>>", "<<1e21>>", "<<1.0>>", "<<.5>>", "<<1e-5>>", "<<0.0001>>", "<<123456789.0>>", "<<true>>", "<<false>>", "<<nil>>", "<<1i>>", "<<0x>>", "<<08>>", "<<9223372036854775807>>", "<<9223372036854775808>>", "<<-9223372036854775808>>", "<<100000000000000000000>>",
	"<<\"str\">>", "<<`raw\\n`>>", "<<\"\\t\\\"\\u00e9\\x41\\101\">>", "<<\"\\q\">>", "<<\"unterminated>>", "<<`multi\nline`>>", "<<\"a\nb\">>", "<<\"\\'\">>", "<<\"\\ud800\">>", "<<\"\\U0001F600\">>",
	"<<$x := .Series>><<$x>>", "<<$x := 1>><<$x = 2>><<$x>>", "<<$x = 2>>", "<<$y>>", "<<$x := $x>>", "<<if $x := .Series>><<$x>><<end>><<$x>>", "<<$x := 1>><<if true>><<$x = 2>><<end>><<$x>>", "<<$x := 1>><<if true>><<$x := 2>><<$x>><<end>><<$x>>", "<<$x=1>>", "<<$x:=1>><<$x>>", "<<$x := .LabelValuesByName>><<$x.pod>>", "<<$a, $b := .GroupBySlice>>", "<<$x := \"a\" | printf \"%s!\">><<$x>>",
	"<</* comment */>>a", "<<- /* comment */ ->> a", "a <<- /* c */>> b", "<</* unclosed", "<</* a */ .Series>>", "<< /* a */ >>", "<</* multi\nline */>>x",
	"<<", ">>", "<<.Series", "<<>>", "<< >>", "<<if>>", "<<if .Series>>", "<<end>>", "<<else>>", "<<if .Series>><<else>><<else>><<end>>", "<<range>>", "<<with>>", "<<break>>", "<<continue>>", "<<range .GroupBySlice>><<break 1>><<end>>", "<<range .GroupBySlice>>a<<else if true>>b<<end>>",
	"<<foo>>", "<<.Series foo>>", "<<.Series .GroupBy>>", "<<\"a\" \"b\">>", "<<.Series | .GroupBy>>", "<<.Series | \"x\">>", "<<.Series |>>", "<<| .Series>>", "<<.Series || .GroupBy>>", "<<(.Series>>", "<<.Series)>>", "<<()>>", "<<(.Series) .GroupBy>>", "<<.Series,>>", "<<,>>", "<<.Series{>>", "<<.Series+>>", "<<..>>", "<<.1>>", "<<.Series.>>", "<<$.>>", "<<.Series-1>>", "<<1 | len>>", "<<true.x>>", "<<\"a\".x>>", "<<@>>", "<<é>>", "<<.Sériès>>",
	"<<printf \"%s\" (index .LabelValuesByName \"pod\")>>", "<<(printf \"%s\" .Series) | len>>", "<<len (print .Series \"x\")>>", "<<not (eq .Series \"\")>>", "<<and (eq 1 1) (ne 1 2)>>", "<<((.Series))>>", "<<print (1) (\"a\")>>", "<<if (gt (len .GroupBySlice) 1)>>many<<end>>", "<<len .Series.>>", "<<eq . .>>", "<<print .>>", "<<printf \"%v\" .>>", "<<printf \"%s\" .>>",
	"{{.Series}}", "< <.Series>>", "<<<.Series>>>", "a<b>c", "<<.Series>>>", "a<<<</*x*/>>", "<<\">>\">>", "<<`>>`>>", "<<.Series>><<.Series>>", "<<range .GroupBySlice>><<range $.GroupBySlice>>x<<end>><<end>>", "<<range .GroupBySlice>><<range $.GroupBySlice>><<break>><<end>>y<<end>>",
	"<<len>>", "<<print len>>", "<<len len>>", "<<print (len .Series) .Series>>", "<<print print>>", "<<if .LabelValuesByName.missing>>a<<else>>b<<end>>", "<<if .>>dot<<end>>", "<<if 0>>a<<else>>b<<end>>", "<<if 0.0>>a<<else>>b<<end>>", "<<if .LabelValuesByName>>a<<else>>b<<end>>",
	`<<slice .Series 5>>`, `<<slice .Series 1 3>>`, `<<slice .Series>>`, `<<slice .Series 3 1>>`, `<<slice .Series 0 99>>`, `<<slice .Series -1>>`, `<<slice .Series 1 2 3>>`, `<<slice .Series "1">>`, `<<slice "ünï" 0 2>>`, `<<slice "ünï" 2>>`, `<<slice .Series 1.0>>`, `<<slice .Series true>>`,
	`<<slice .GroupBySlice 1>>`, `<<slice .GroupBySlice 0 2>>`, `<<slice .GroupBySlice>>`, `<<slice .GroupBySlice 1 2 3>>`, `<<slice .GroupBySlice 1 3 2>>`, `<<slice .GroupBySlice 2 1>>`, `<<slice .GroupBySlice 0 4>>`, `<<slice .GroupBySlice 1 2 3 3>>`, `<<slice (slice .GroupBySlice 0 1) 0 3>>`, `<<slice (slice .GroupBySlice 1 1) 0 2>>`,
	`<<slice (slice .GroupBySlice 0 1 2) 0 3>>`, `<<slice (slice .GroupBySlice 0 1 2) 0 2>>`, `<<slice (slice .GroupBySlice 1 2 3) 1 2>>`, `<<len (slice .GroupBySlice 1)>>`, `<<index (slice .GroupBySlice 1) 0>>`, `<<index (slice .GroupBySlice 1) 2>>`, `<<range slice .GroupBySlice 1>><<.>>,<<else>>none<<end>>`, `<<range $i, $l := slice .GroupBySlice 1>><<if $i>>,<<end>><<$l>><<end>>`,
	`<<if slice .GroupBySlice 1 1>>some<<else>>none<<end>>`, `<<printf "%v %q %T" (slice .GroupBySlice 1) (slice .GroupBySlice 1) (slice .GroupBySlice 1)>>`, `<<.Series | slice>>`, `<<2 | slice .Series>>`, `<<slice>>`, `<<slice 5>>`, `<<slice .LabelValuesByName>>`, `<<slice .LabelValuesByName.missing>>`, `<<slice .Series .LabelValuesByName.missing>>`, `<<slice .>>`, `<<slice (index .LabelValuesByName "namespace") 0 3>>`, `<<eq (slice .GroupBySlice 1) .GroupBySlice>>`, `<<with slice .GroupBySlice 1 2>><<.>><<end>>`,
	`<<html .LabelMatchers>>`, `<<html "<a href='x'>&\x00\""  >>`, `<<html>>`, `<<html .Series .GroupBy>>`, `<<html 1 2 "<">>`, `<<html .GroupBySlice>>`, `<<html .LabelValuesByName>>`, `<<html .LabelValuesByName.missing>>`, `<<html .LabelValuesByName.missing 1 2>>`, `<<.LabelMatchers | html>>`, `<<html true 1.5 'a'>>`, `<<html .>>`,
	`<<js .LabelMatchers>>`, "<<js \"\\\\'\\\"<>&=\\n\\x01\\x7fü\\u200b\\U0001F600\\U000e0001 \\u00a0\">>", `<<js>>`, `<<js 1 2>>`, `<<js .GroupBySlice>>`, `<<js .LabelValuesByName.missing>>`, `<<js .LabelValuesByName>>`, `<<.GroupBy | js>>`, `<<js "a" "b">>`, `<<js .>>`,
	`<<urlquery .LabelMatchers>>`, "<<urlquery \"a b+c/d?e=f&g~h-i_j.k*ü\\n%\">>", `<<urlquery>>`, `<<urlquery 1 2>>`, `<<urlquery .GroupBySlice>>`, `<<urlquery .LabelValuesByName.missing>>`, `<<.Series | urlquery>>`, `<<urlquery "!'()@:$,;[]#">>`, `<<urlquery .>>`,
	`<<call>>`, `<<call .Series>>`, `<<call 1 2>>`, `<<call .LabelValuesByName.missing>>`, `<<call .LabelValuesByName.missing 1>>`, `<<call print "x">>`, `<<.Series | call>>`, `<<if false>><<call .Series>><<end>>ok`, `<<call .>>`, `<<call . 1>>`,
	"<<if .Series ->>\n  yes\n<<- end>>", "x  <<- \"y\" ->>  z", "x<<-\"y\">>z", "x<<- \"y\"->>z", "<<.Series->>", "<<\t.Series\t>>", "<<\n.Series\n>>", "<<\r\n- 1>>",
}

// Parts of unusual templates; most fail, and must fail in Loadline too.
var pieces = []string{
	".Series", ".GroupBy", ".GroupBySlice", ".LabelValuesByName", ".", "$", "$.GroupBy", "1", "2", "0", "-3", "1.5", "\"a\"", "\"pod\"", "``", "true", "false", "'x'",
	"index", "len", "print", "printf", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "(", ")", "|", "$x", "\"%v\"", "\"%s-%d\"", ".LabelValuesByName.pod", "println",
}

// With the rest of the functions, after the others so that those stay the same.
var morePieces = append([]string{"slice", "html", "js", "urlquery", "call", "slice", "(slice .GroupBySlice", "(html", "(js", "\"<'&\""}, pieces...)

func templates() []any {
	random := rand.New(rand.NewSource(1))
	texts := append([]string{}, templateTable...)
	for range 1100 {
		texts = append(texts, "<<"+randomAction(random, pieces)+">>")
	}
	for range 400 {
		texts = append(texts, randomBlocks(random, 0))
	}
	for range 600 {
		texts = append(texts, "<<"+morePieces[random.Intn(9)]+" "+randomAction(random, morePieces)+">>")
	}
	seen := map[string]bool{}
	rows := []any{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			rows = append(rows, templateRow{text, rendered(text)})
		}
	}
	return rows
}

func randomAction(random *rand.Rand, pieces []string) string {
	words := []string{}
	for range 1 + random.Intn(5) {
		words = append(words, pieces[random.Intn(len(pieces))])
	}
	return strings.Join(words, " ")
}

func randomBlocks(random *rand.Rand, depth int) string {
	values := []string{".Series", ".GroupBySlice", ".LabelValuesByName", "\"\"", "(eq .GroupBy \"\")", "1", ".", "$.GroupBySlice"}
	out := ""
	for range 1 + random.Intn(3) {
		value := values[random.Intn(len(values))]
		switch kind := random.Intn(6); {
		case kind == 0:
			out += " text "
		case kind == 1:
			out += "<<- " + value + ">>"
		case kind == 2 || depth > 2:
			out += "<<" + value + " ->> "
		default:
			keyword := []string{"if ", "with ", "range ", "range $k, $v := ", "with $w := "}[random.Intn(5)]
			if value == "1" {
				keyword = "if " // the Go that prometheus-adapter v0.12.0 was built with cannot range over numbers
			}
			out += "<<" + keyword + value + ">>" + randomBlocks(random, depth+1)
			if random.Intn(2) == 0 {
				out += "<<else>>" + randomBlocks(random, depth+1)
			}
			out += "<<end>>"
		}
	}
	return out
}

func rendered(text string) []*string {
	parsed, err := template.New("oracle").Delims("<<", ">>").Parse(text)
	if err != nil {
		return nil
	}
	outputs := []*string{}
	for _, arguments := range argumentSets {
		buffer := new(bytes.Buffer)
		if err := parsed.Execute(buffer, arguments); err != nil {
			outputs = append(outputs, nil)
			continue
		}
		output := buffer.String()
		outputs = append(outputs, &output)
	}
	return outputs
}

type quoteRow struct {
	Value   string `json:"value"`
	Matcher string `json:"matcher"`
}

func quotes() []any {
	random := rand.New(rand.NewSource(2))
	values := []string{"", "a", "a\"b", `a\b`, "a\nb", "\a\b\f\v\r\t", "\x00\x1f\x7f", "ü", "日本", "\u200b", "\u00ad", "\ufeff", "😀", "\U000e0001", "a|b", "^$.*", "`", "'", "\u2028", "\u00a0", "\ue000", "\ufffd", "\u0301"}
	for range 300 {
		runes := []rune{}
		for range 1 + random.Intn(6) {
			character := rune(random.Intn([]int{0x80, 0x250, 0x2100, 0xd800}[random.Intn(4)]))
			runes = append(runes, character)
		}
		values = append(values, string(runes))
	}
	rows := []any{}
	for _, value := range values {
		rows = append(rows, quoteRow{value, prom.LabelEq("l", value)})
	}
	return rows
}
