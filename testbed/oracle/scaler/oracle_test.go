// Package podautoscaler: this file is copied next to the controller's own sources and built
// as a test binary, because only a test can use a bubble of fake time (testing/synctest).
//
// One JSON document per line on $ORACLE_INPUT, one result per line to $ORACLE_OUTPUT. Time starts at
// 2000-01-01T00:00:00Z and advances only as a step says.
package podautoscaler

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
)

type settings struct {
	Tolerance                     float64 `json:"tolerance"`
	DownscaleStabilizationSeconds float64 `json:"downscale_stabilization_seconds"`
	CPUInitializationSeconds      float64 `json:"cpu_initialization_period_seconds"`
	InitialReadinessDelaySeconds  float64 `json:"initial_readiness_delay_seconds"`
	ScaleToZero                   bool    `json:"scale_to_zero"`
	ConfigurableTolerance         bool    `json:"configurable_tolerance"`
	PodLevelResources             bool    `json:"pod_level_resources"`
}

type step struct {
	AtSeconds float64                                `json:"atSeconds"`
	HPA       *autoscalingv2.HorizontalPodAutoscaler `json:"autoscaler"`
	Scale     scaleAnswer                            `json:"scale,omitzero"`
	Pods      []*v1.Pod                              `json:"pods,omitzero"`
	Others    map[string]string                      `json:"others,omitzero"`
	Metrics   metricAnswers                          `json:"metrics,omitzero"`
	Update    string                                 `json:"updateError,omitzero"`
	// MappingError is the answer of discovery to the target's kind.
	MappingError string `json:"mappingError,omitzero"`
	// Deleted is an autoscaler that is deleted before its reconcile stores its selector.
	Deleted bool `json:"deleted,omitzero"`
}

type normalization struct {
	Current int32 `json:"current"`
	Desired int32 `json:"desired"`
}

type oracleCase struct {
	Mode      string        `json:"mode"`
	Settings  settings      `json:"settings"`
	Memory    memory        `json:"memory,omitzero"`
	Steps     []step        `json:"steps"`
	Normalize normalization `json:"normalize,omitzero"`
}

func TestOracle(t *testing.T) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	// The default handlers log and rate-limit repeated errors, which would advance the fake clock.
	utilruntime.ErrorHandlers = nil
	input, err := os.Open(os.Getenv("ORACLE_INPUT"))
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	output, err := os.Create(os.Getenv("ORACLE_OUTPUT"))
	if err != nil {
		t.Fatal(err)
	}
	lines, results := bufio.NewReaderSize(input, 1<<20), bufio.NewWriterSize(output, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			writeResult(t, line, results)
		}
		if err == io.EOF {
			break
		}
	}
	if err := results.Flush(); err != nil {
		t.Fatal(err)
	}
}

func writeResult(t *testing.T, line []byte, results *bufio.Writer) {
	var input oracleCase
	if err := json.Unmarshal(line, &input); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	setGates(t, input.Settings)
	var result any
	synctest.Test(t, func(t *testing.T) {
		switch input.Mode {
		case "metrics":
			result = evaluateMetrics(t, input)
		case "normalize":
			result = normalizeOnce(input)
		default:
			result = reconcileSteps(t, input)
		}
	})
	encoded, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	results.Write(encoded)
	results.WriteByte('\n')
}

func setGates(t *testing.T, s settings) {
	gates := map[string]bool{
		string(features.HPAScaleToZero):           s.ScaleToZero,
		string(features.HPAConfigurableTolerance): s.ConfigurableTolerance,
		string(features.PodLevelResources):        s.PodLevelResources,
	}
	// The HPA does not need those that depend on it, but they cannot be on without it.
	known := utilfeature.DefaultMutableFeatureGate.GetAll()
	for gate, others := range utilfeature.DefaultMutableFeatureGate.Dependencies() {
		if slices.Contains(others, features.PodLevelResources) {
			gates[string(gate)] = s.PodLevelResources && known[gate].Default
		}
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		t.Fatal(err)
	}
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second))
}
