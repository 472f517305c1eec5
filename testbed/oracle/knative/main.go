// Runs the autoscaler of Knative Serving on cases from stdin, and writes the pods that it wants to stdout.
package main

import (
	"encoding/json"
	"log"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/serving/pkg/autoscaler/scaling"
)

type step struct {
	AtSeconds float64 `json:"atSeconds"`
	Stable    float64 `json:"stable"`
	Panic     float64 `json:"panic"`
	Ready     int     `json:"ready"`
}

type panicCase struct {
	Target              float64 `json:"target"`
	ThresholdPercent    float64 `json:"thresholdPercent"`
	StableWindowSeconds float64 `json:"stableWindowSeconds"`
	Steps               []step  `json:"steps"`
	Desired             []int32 `json:"desired"`
}

// world is what the autoscaler reads: the ready pods and the two averages of the metric.
type world struct{ step }

func (w *world) ReadyCount() (int, error)    { return w.Ready, nil }
func (w *world) NotReadyCount() (int, error) { return 0, nil }

func (w *world) StableAndPanicConcurrency(types.NamespacedName, time.Time) (float64, float64, error) {
	return w.Stable, w.Panic, nil
}

func (w *world) StableAndPanicRPS(types.NamespacedName, time.Time) (float64, float64, error) {
	return w.Stable, w.Panic, nil
}

func main() {
	var cases []panicCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		log.Fatal(err)
	}
	for i := range cases {
		run(&cases[i])
	}
	if err := json.NewEncoder(os.Stdout).Encode(cases); err != nil {
		log.Fatal(err)
	}
}

func run(c *panicCase) {
	// With more than one ready pod, a new autoscaler begins in panic mode.
	seen := &world{step{Ready: 1}}
	spec := &scaling.DeciderSpec{
		TargetValue:      c.Target,
		TotalValue:       c.Target,
		PanicThreshold:   c.ThresholdPercent / 100,
		StableWindow:     time.Duration(c.StableWindowSeconds * float64(time.Second)),
		MaxScaleUpRate:   1e6,
		MaxScaleDownRate: 1e6,
		Reachable:        false,
	}
	scaler := scaling.New(*attribute.EmptySet(), noop.NewMeterProvider(), "ns", "rev", seen, seen, spec)
	start := time.Unix(1_800_000_000, 0)
	for _, each := range c.Steps {
		seen.step = each
		now := start.Add(time.Duration(each.AtSeconds * float64(time.Second)))
		c.Desired = append(c.Desired, scaler.Scale(zap.NewNop().Sugar(), now).DesiredPodCount)
	}
}
