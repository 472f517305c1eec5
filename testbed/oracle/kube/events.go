package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"
)

// One step of a sequence: an event, and the correlator's result.
type eventRow struct {
	Story   int    `json:"story"`
	Seconds int64  `json:"seconds"`
	Object  string `json:"object"`
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Name    string `json:"name"`

	Skipped bool            `json:"skipped"`
	Written *writtenRow     `json:"written"`
	Patch   json.RawMessage `json:"patch"`
}

type writtenRow struct {
	Name         string `json:"name"`
	Message      string `json:"message"`
	Count        int32  `json:"count"`
	FirstSeconds int64  `json:"firstSeconds"`
	LastSeconds  int64  `json:"lastSeconds"`
}

func events() []any {
	rows := []any{}
	for story := 0; story < 16; story++ {
		random := rand.New(rand.NewSource(int64(story)))
		now := int64(1_000_000 + story)
		clock := testclock.NewFakePassiveClock(time.Unix(now, 0))
		correlator := record.NewEventCorrelator(clock)
		// Either too few messages to be aggregated or no duplicates: upstream evicts a random one of an aggregated set.
		messages, pause := []int{1, 3, 9, 0}[story%4], []int64{1, 15, 60, 200, 700}[random.Intn(5)]
		for step := 0; step < 60; step++ {
			now += random.Int63n(pause + 1)
			clock.SetTime(time.Unix(now, 0))
			row := eventRow{
				Story: story, Seconds: now, Name: fmt.Sprintf("e%d", step),
				Object: fmt.Sprintf("o%d", random.Intn(2)), Type: []string{"Normal", "Warning"}[random.Intn(2)],
				Reason: fmt.Sprintf("R%d", random.Intn(2)), Message: fmt.Sprintf("m%d", step),
			}
			if messages > 0 {
				row.Message = fmt.Sprintf("m%d", random.Intn(messages))
			}
			rows = append(rows, correlated(correlator, row))
		}
	}
	return rows
}

func correlated(correlator *record.EventCorrelator, row eventRow) eventRow {
	at := metav1.NewTime(time.Unix(row.Seconds, 0))
	event := &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: row.Name, Namespace: "n"},
		InvolvedObject: v1.ObjectReference{Kind: "K", Namespace: "n", Name: row.Object, UID: "u"},
		Reason:         row.Reason, Message: row.Message, Type: row.Type,
		Source: v1.EventSource{Component: "c"}, ReportingController: "c",
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}
	result, err := correlator.EventCorrelate(event)
	if err != nil {
		log.Fatal(err)
	}
	if result.Skip {
		row.Skipped = true
		return row
	}
	written := result.Event
	row.Patch = result.Patch
	row.Written = &writtenRow{
		Name: written.Name, Message: written.Message, Count: written.Count,
		FirstSeconds: written.FirstTimestamp.Unix(), LastSeconds: written.LastTimestamp.Unix(),
	}
	correlator.UpdateState(written)
	return row
}
