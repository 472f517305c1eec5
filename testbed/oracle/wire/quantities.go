package main

import (
	"math"
	"math/rand"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

type quantityRow struct {
	Text      string `json:"text"`
	Refused   bool   `json:"refused,omitempty"`
	String    string `json:"string,omitempty"`
	Canonical string `json:"canonical,omitempty"` // where String repeats the text instead
	Milli     int64  `json:"milli,omitempty"`
	Value     int64  `json:"value,omitempty"`
	Float     string `json:"float,omitempty"`
}

func quantities() []any {
	rows := []any{}
	seen := map[string]bool{}
	for _, text := range append(pickedQuantities(), randomQuantities(2600)...) {
		if !seen[text] {
			seen[text] = true
			rows = append(rows, readQuantity(text))
		}
	}
	return rows
}

func readQuantity(text string) quantityRow {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return quantityRow{Text: text, Refused: true}
	}
	row := quantityRow{
		Text:   text,
		String: quantity.String(),
		Milli:  quantity.MilliValue(),
		Value:  quantity.Value(),
		Float:  strconv.FormatFloat(quantity.AsApproximateFloat64(), 'g', -1, 64),
	}
	quantity.Neg() // forgets the text it was read from
	quantity.Neg()
	if canonical := quantity.String(); canonical != row.String {
		row.Canonical = canonical
	}
	return row
}

var suffixes = []string{
	"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
}

var numbers = []string{
	"0", "1", "-1", "+1", "2", "7", "8", "10", "16", "99", "100", "999", "1000", "1001", "1023", "1024", "1025", "1500",
	"2048", "-1500", "-0", "+0", "00", "007", "-007", "0.5", ".5", "5.", ".", "", "+", "-", "-.", "+.", "1.5", "1.500",
	"1.050", "-1.5", "0.1", "0.01", "0.001", "0.0001", "-0.0001", "1.1", "1.0000", "1.0000000001", "-1.0000000001",
	"1.000000001", "0.000000001", "0.0000000001", "-0.0000000001", "3.1415926535897932384626", "1000000", "1048576",
	"1073741824", "123456789", "999999999", "9007199254740993", "100000000000000000", "999999999999999999",
	"1000000000000000000", "4611686018427387904", "9223372036854775", "9223372036854776", "9223372036854775807",
	"9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
	"12345678901234567890", "-12345678901234567890.123456789123", "123456789012345678901234567890", "1.5.5", "1 ", " 1",
	"1,5", "0x10", "1_000", "١", "--1", "+-1", "1-", "Inf", "NaN",
}

func pickedQuantities() []string {
	texts := []string{}
	for _, number := range numbers {
		for _, suffix := range suffixes {
			texts = append(texts, number+suffix)
		}
		for _, suffix := range []string{
			"e0", "e3", "E3", "e-3", "e+3", "e1", "e2", "e9", "e-9", "e-10", "e18", "e19", "e21", "e30", "e-30", "e300", "e310",
		} {
			texts = append(texts, number+suffix)
		}
	}
	return append(texts,
		"10P", "1E", "9E", "10E", "8Ei", "-8Ei", "7Ei", "1000E", "10000E", "1500E", "-1000E", "1e400", "15e999",
		"1K", "1mm", "1mi", "1ki", "1KI", "1kk", "1Kim", "1i", "1nu", "1e", "1E+", "1e-", "1ee3", "1e3e3", "1e3m", "1m3",
		"1e1.5", "1e 3", "1k5", "1e9223372036854775807", "1e9223372036854775808", "1e4294967296", "1e4294967299",
		"1e00000000000000000003", "1\n", "1m\n", "m\x00", "1é", "-m", "+Ki", ".Pi", "-Pi", "e3", "E", "-E", "1e2147483600", "0e5",
	)
}

// Random numbers and suffixes, for unforeseen combinations of length and rounding.
func randomQuantities(count int) []string {
	random := rand.New(rand.NewSource(20261121))
	texts := make([]string, 0, count)
	for len(texts) < count {
		var text strings.Builder
		text.WriteString([]string{"", "", "", "-", "+"}[random.Intn(5)])
		text.WriteString(digits(random, random.Intn(1+random.Intn(22))))
		if random.Intn(2) == 0 {
			text.WriteString("." + digits(random, random.Intn(1+random.Intn(14))))
		}
		if random.Intn(4) == 0 {
			text.WriteString([]string{"e", "E", "e-", "e+"}[random.Intn(4)] + strconv.Itoa(random.Intn(24)))
		} else {
			text.WriteString(suffixes[random.Intn(len(suffixes))])
		}
		texts = append(texts, text.String())
	}
	return texts
}

func digits(random *rand.Rand, count int) string {
	var text strings.Builder
	for range count {
		// Many zeros and nines, where carrying and canonical forms go wrong.
		text.WriteByte("0123456789000099"[random.Intn(16)])
	}
	return text.String()
}

type amountRow struct {
	Amount int64     `json:"amount"`
	Milli  [3]string `json:"milli"` // NewMilliQuantity as DecimalSI, BinarySI and DecimalExponent
	Whole  [3]string `json:"whole"` // NewQuantity likewise
}

func amounts() []any {
	random := rand.New(rand.NewSource(36))
	values := []int64{
		0, 1, -1, 999, 1000, 1001, -1000, 1023, 1024, 1024000, 1048576, 1048576000, 1048576500, -1048576500, 1500, 100000,
		1000000, 123456789, math.MaxInt64, math.MinInt64, math.MaxInt64 - 807, math.MinInt64 + 1, 9223372036854775000,
		-1023000, -1024000, 1023999, 1 << 40, 1 << 50, 1 << 60, 1000 << 50, -1 << 62, 1e18, -1e18, 5e18,
	}
	for range 600 {
		value := random.Int63() >> random.Intn(63)
		switch random.Intn(4) {
		case 0:
			value = -value
		case 1:
			value = value / 1000 * 1000
		case 2:
			value = value / 1024000 * 1024000
		}
		values = append(values, value)
	}
	rows := []any{}
	for _, value := range values {
		row := amountRow{Amount: value}
		for i, format := range []resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent} {
			row.Milli[i] = resource.NewMilliQuantity(value, format).String()
			row.Whole[i] = resource.NewQuantity(value, format).String()
		}
		rows = append(rows, row)
	}
	return rows
}

type sumRow struct {
	Left  string `json:"left"`
	Right string `json:"right"`
	Cmp   int    `json:"cmp"`
	Sum   string `json:"sum"`
	Milli int64  `json:"milli"`
}

func sums() []any {
	texts := []string{
		"0", "0Ki", "1", "1000m", "1k", "1Ki", "1023", "1024", "1.5", "-1.5", "-1500u", "1n", "-1n", "1e3", "0e0", "2e-3",
		"9223372036854775807", "-9223372036854775807", "1E", "10E", "1Ei", "7Ei", "-7Ei", "0.5Ki", "1.0000000001Ki",
		"12345678901234567890123", "100m", "999999999999999999n", "1e21",
	}
	rows := []any{}
	for _, left := range texts {
		for _, right := range texts {
			sum, other := resource.MustParse(left), resource.MustParse(right)
			row := sumRow{Left: left, Right: right, Cmp: sum.Cmp(other)}
			sum.Add(other)
			row.Sum, row.Milli = sum.String(), sum.MilliValue()
			rows = append(rows, row)
		}
	}
	return rows
}
