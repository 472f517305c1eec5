package podautoscaler

// The controller's own functions, unmodified, in this environment.

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/labels"
	metricsclient "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/monitor"
)

// entry is a recommendation or a scale event: replicas and time (seconds since the start of the bubble).
type entry struct {
	Replicas int32   `json:"replicas"`
	At       float64 `json:"atSeconds"`
	Outdated bool    `json:"outdated,omitempty"`
}

type memory struct {
	Recommendations []entry `json:"recommendations"`
	Up              []entry `json:"scaleUpEvents"`
	Down            []entry `json:"scaleDownEvents"`
}

type stepResult struct {
	Log    [][]string      `json:"log"`
	Status json.RawMessage `json:"status"`
	Error  string          `json:"error"`
	Memory memory          `json:"memory"`
	// Counted has the labels action and error of horizontal_pod_autoscaler_controller_reconciliations_total.
	Counted []string `json:"counted,omitzero"`
}

type metricResult struct {
	Proposal int32           `json:"proposal"`
	Name     string          `json:"name"`
	Status   json.RawMessage `json:"status"`
	Error    string          `json:"error"`
	Log      [][]string      `json:"log"`
}

func newController(w *environment, s settings) *HorizontalController {
	lister := podLister{environment: w}
	client := metricsclient.NewRESTMetricsClient(resourceMetrics{environment: w}, customClient{w}, externalMetrics{environment: w})
	a := &HorizontalController{
		eventRecorder:                recorder{w},
		scaleNamespacer:              scales{environment: w},
		hpaNamespacer:                autoscalers{environment: w},
		mapper:                       mapper{environment: w},
		tolerance:                    s.Tolerance,
		downscaleStabilisationWindow: seconds(s.DownscaleStabilizationSeconds),
		monitor:                      results{monitor.New(), w},
		podLister:                    lister,
		recommendations:              map[string][]timestampedRecommendation{},
		scaleUpEvents:                map[string][]timestampedScaleEvent{},
		scaleDownEvents:              map[string][]timestampedScaleEvent{},
		replicaCalc: NewReplicaCalculator(client, lister,
			seconds(s.CPUInitializationSeconds), seconds(s.InitialReadinessDelaySeconds)),
	}
	a.prepare()
	return a
}

func reconcileSteps(t *testing.T, input oracleCase) any {
	start, w := time.Now(), &environment{}
	a := newController(w, input.Settings)
	var status *autoscalingv2.HorizontalPodAutoscalerStatus
	results := []stepResult{}
	for i := range input.Steps {
		now := &input.Steps[i]
		w.now, w.log, w.status, w.counted = now, [][]string{}, nil, nil
		time.Sleep(time.Until(start.Add(seconds(now.AtSeconds))))
		hpa := now.HPA
		key := hpa.Namespace + "/" + hpa.Name
		if i == 0 {
			a.remember(key, start, input.Memory)
		} else {
			hpa.Status = *status.DeepCopy()
		}
		a.selectEach(parsed(t, key, now))
		err := a.reconcileAutoscaler(context.Background(), hpa, key)
		result := stepResult{Log: w.log, Memory: a.recall(key, start), Counted: w.counted}
		if err != nil {
			result.Error = err.Error()
		}
		written := w.status
		if written == nil {
			written = &hpa.Status
		}
		encoded, back := roundTrip(*written)
		result.Status, status = encoded, &back
		results = append(results, result)
	}
	return results
}

func evaluateMetrics(t *testing.T, input oracleCase) any {
	start, now := time.Now(), &input.Steps[0]
	w := &environment{now: now}
	a := newController(w, input.Settings)
	time.Sleep(time.Until(start.Add(seconds(now.AtSeconds))))
	selector, err := labels.Parse(now.Scale.Selector)
	if err != nil {
		t.Fatal(err)
	}
	results := []metricResult{}
	for _, metric := range now.HPA.Spec.Metrics {
		w.log = [][]string{}
		var result metricResult
		var status autoscalingv2.MetricStatus
		result.Proposal, result.Name, _, _, err = a.computeReplicasForMetric(context.Background(), now.HPA, metric,
			now.Scale.Spec, now.Scale.Status, selector, &status)
		result.Log = w.log
		result.Status, _ = roundTrip(status)
		if err != nil {
			result.Error = err.Error()
		}
		results = append(results, result)
	}
	return results
}

func normalizeOnce(input oracleCase) any {
	start, w := time.Now(), &environment{}
	a := newController(w, input.Settings)
	hpa, n := input.Steps[0].HPA, input.Normalize
	key := hpa.Namespace + "/" + hpa.Name
	time.Sleep(time.Until(start.Add(seconds(input.Steps[0].AtSeconds))))
	a.remember(key, start, input.Memory)
	var desired int32
	if hpa.Spec.Behavior == nil {
		desired = a.normalizeDesiredReplicas(hpa, key, n.Current, n.Desired, *hpa.Spec.MinReplicas)
	} else {
		desired = a.normalizeDesiredReplicasWithBehaviors(hpa, key, n.Current, n.Desired, *hpa.Spec.MinReplicas)
	}
	encoded, _ := roundTrip(hpa.Status)
	return []stepResult{{Log: [][]string{{"desired", fmt.Sprint(desired)}}, Status: encoded, Memory: a.recall(key, start)}}
}

// parsed returns the selectors that are stored when a reconcile begins, by the key of their autoscaler.
// That of the autoscaler itself matches nothing until the reconcile stores the real one.
func parsed(t *testing.T, own string, now *step) map[string]labels.Selector {
	stored := map[string]labels.Selector{}
	if !now.Deleted {
		stored[own] = labels.Nothing()
	}
	for key, text := range now.Others {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		stored[key] = selector
	}
	return stored
}

func (a *HorizontalController) remember(key string, start time.Time, m memory) {
	for _, e := range m.Recommendations {
		a.recommendations[key] = append(a.recommendations[key],
			timestampedRecommendation{recommendation: e.Replicas, timestamp: start.Add(seconds(e.At))})
	}
	a.scaleUpEvents[key] = events(m.Up, start)
	a.scaleDownEvents[key] = events(m.Down, start)
}

func events(entries []entry, start time.Time) (events []timestampedScaleEvent) {
	for _, e := range entries {
		events = append(events, timestampedScaleEvent{replicaChange: e.Replicas, timestamp: start.Add(seconds(e.At)), outdated: e.Outdated})
	}
	return events
}

func (a *HorizontalController) recall(key string, start time.Time) (m memory) {
	for _, r := range a.recommendations[key] {
		m.Recommendations = append(m.Recommendations, entry{Replicas: r.recommendation, At: r.timestamp.Sub(start).Seconds()})
	}
	m.Up = entries(a.scaleUpEvents[key], start)
	m.Down = entries(a.scaleDownEvents[key], start)
	return m
}

func entries(events []timestampedScaleEvent, start time.Time) (entries []entry) {
	for _, e := range events {
		entries = append(entries, entry{Replicas: e.replicaChange, At: e.timestamp.Sub(start).Seconds(), Outdated: e.outdated})
	}
	return entries
}
