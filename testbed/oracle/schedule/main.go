// The oracle of cron expressions: it calls robfig/cron v3, which CronJobs of Kubernetes use, and writes the results as vectors.
//
//	go run . FILE
//
// Time zones are those of the Go distribution (package time/tzdata), so that the file is the same on every machine.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"
	"strconv"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

// Ten years, at the end of which the rules of all these zones are still known.
const firstYear, endYear = 2016, 2026

var zones = []string{
	"Europe/Berlin", "America/New_York", "Australia/Sydney", "Asia/Kolkata", "Pacific/Auckland", "America/Los_Angeles",
}

// In these zones clocks are or were put forward at midnight.
var midnightZones = []string{"America/Santiago", "America/Sao_Paulo", "Africa/Cairo"}

type row struct {
	Expression string `json:"expression"`
	Zone       string `json:"zone"`
	Refused    bool   `json:"refused,omitempty"`
	Count      int    `json:"count"`
	SHA256     string `json:"sha256,omitempty"` // of the Unix seconds, each followed by a newline
	First      int64  `json:"first,omitempty"`
	Last       int64  `json:"last,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . FILE (where the vectors are written)")
	}
	file, err := os.Create(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	buffered := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffered)
	encode := func(value row) {
		if err := encoder.Encode(value); err != nil {
			log.Fatal(err)
		}
	}
	for _, expression := range append(picked(), random(25)...) {
		for _, zone := range zones {
			encode(matches(expression, zone))
		}
	}
	for _, expression := range daytime() {
		for _, zone := range midnightZones {
			encode(matches(expression, zone))
		}
	}
	for _, expression := range refused() {
		encode(matches(expression, "UTC"))
	}
	if err := buffered.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}

func matches(expression, zone string) row {
	result := row{Expression: expression, Zone: zone}
	schedule, err := cron.ParseStandard(expression)
	if err != nil {
		result.Refused = true
		return result
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		log.Fatal(err)
	}
	end := time.Date(endYear, 1, 1, 0, 0, 0, 0, location)
	sum := sha256.New()
	at := time.Date(firstYear, 1, 1, 0, 0, 0, 0, location).Add(-time.Second)
	for {
		at = schedule.Next(at.In(location))
		if at.IsZero() || !at.Before(end) {
			break
		}
		if result.Count == 0 {
			result.First = at.Unix()
		}
		result.Count++
		result.Last = at.Unix()
		sum.Write([]byte(strconv.FormatInt(at.Unix(), 10) + "\n"))
	}
	if result.Count > 0 {
		result.SHA256 = hex.EncodeToString(sum.Sum(nil))
	}
	return result
}
