package main

import (
	"math"
	"math/rand"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

type durationRow struct {
	Kind   string `json:"kind"` // go, prometheus, or nanos: a number to be printed
	Text   string `json:"text"`
	Nanos  int64  `json:"nanos"`
	String string `json:"string,omitempty"`
	Error  bool   `json:"error,omitempty"`
}

func durations() []any {
	texts := append(pickedDurations(), randomDurations(700)...)
	rows := []any{}
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			continue
		}
		seen[text] = true
		nanos, err := time.ParseDuration(text)
		row := durationRow{Kind: "go", Text: text, Nanos: int64(nanos), Error: err != nil}
		if err == nil {
			row.String = nanos.String()
		}
		duration, err := model.ParseDuration(text)
		other := durationRow{Kind: "prometheus", Text: text, Nanos: int64(duration), Error: err != nil}
		if err == nil {
			other.String = duration.String()
		}
		rows = append(rows, row, other)
	}
	return append(rows, printedDurations()...)
}

func pickedDurations() []string {
	return []string{
		"", "0", "+0", "-0", "00", "0s", "-0s", "1", "1s", "+1s", "-1s", "15s", "5m", "1m30s", "1h", "24h", "1d", "1w", "1y",
		"1.5h", "1.5s", ".5s", "5.s", ".s", "1..5s", "1s500ms", "500ms1s", "1m1h", "1h1h", "1h 30m", " 1h", "1h ", "1H", "1sec",
		"100us", "100\u00b5s", "100\u03bcs", "100ns", "0.1ns", "1.1ns", "0.9999999999s", "1.0000000001s", "2562047h47m16.854775807s",
		"2562047h47m16.854775808s", "-2562047h47m16.854775808s", "-2562047h47m16.854775809s", "9223372036854775807ns",
		"9223372036854775808ns", "-9223372036854775808ns", "9223372036854775809ns", "292y", "293y", "106751d", "106752d",
		"10000000000000000000s", "99999999999999999999s", "0.9223372036854775807h", "0.9223372036854775808h",
		"0.92233720368547758079h", "0.123456789012345678901234567890h", "3.33333333333333333333m", "1y2w3d4h5m6s7ms", "2w1y",
		"1h1m1s1ms1us1ns", "1ms", "1d12h", "7d", "14d", "365d", "366d", "730d", "52w", "1e3s", "1m-30s", "--1s", "+-1s", "1s1", "s",
		"m", "-", "+", ".", "1.h", "0.0s", "0y", "0y0w1ms", "0001h", "1.5.5s", "٣s", "1s\n",
	}
}

func randomDurations(count int) []string {
	random := rand.New(rand.NewSource(20261121))
	units := []string{"h", "m", "s", "ms", "us", "ns", "d", "w", "y", "h", "m", "s", "ms"}
	texts := make([]string, 0, count)
	for len(texts) < count {
		var text strings.Builder
		text.WriteString([]string{"", "", "", "", "-"}[random.Intn(5)])
		for range 1 + random.Intn(3) {
			text.WriteString(strconv.Itoa(random.Intn(1 + random.Intn(4000))))
			if random.Intn(3) == 0 {
				text.WriteString("." + digits(random, random.Intn(12)))
			}
			text.WriteString(units[random.Intn(len(units))])
		}
		texts = append(texts, text.String())
	}
	return texts
}

func printedDurations() []any {
	random := rand.New(rand.NewSource(7))
	values := []int64{0, 1, -1, 999, 1000, 1001, 1e6 - 1, 1e6, 1e9 - 1, 1e9, 60e9, 3600e9, math.MaxInt64, math.MinInt64}
	for range 300 {
		values = append(values, (random.Int63()>>random.Intn(63))*[]int64{1, -1}[random.Intn(2)])
	}
	rows := []any{}
	for _, value := range values {
		rows = append(rows, durationRow{Kind: "nanos", Nanos: value, String: time.Duration(value).String()})
	}
	return rows
}
