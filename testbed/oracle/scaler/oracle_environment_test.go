package podautoscaler

// The controller's clients, which return the data of the current step.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	autoscalingclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	corelisters "k8s.io/client-go/listers/core/v1"
	scaleclient "k8s.io/client-go/scale"
	customapi "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalapi "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsapi "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	customclient "k8s.io/metrics/pkg/client/custom_metrics"
	externalclient "k8s.io/metrics/pkg/client/external_metrics"

	"k8s.io/kubernetes/pkg/controller/podautoscaler/monitor"
)

type scaleAnswer struct {
	Error    string `json:"error,omitzero"`
	Spec     int32  `json:"spec,omitzero"`
	Status   int32  `json:"status,omitzero"`
	Selector string `json:"selector,omitzero"`
	Follow   bool   `json:"follow,omitzero"`
}

type answer[T any] struct {
	Error string `json:"error,omitzero"`
	List  T      `json:"list,omitzero"`
}

type metricAnswers struct {
	Resource answer[metricsapi.PodMetricsList]                      `json:"resource,omitzero"`
	Custom   map[string]answer[customapi.MetricValueList]           `json:"custom,omitzero"`
	External map[string]answer[externalapi.ExternalMetricValueList] `json:"external,omitzero"`
}

// environment is everything that the controller reads and writes; log entries are in chronological order.
type environment struct {
	now      *step
	log      [][]string
	status   *autoscalingv2.HorizontalPodAutoscalerStatus
	replicas int32
	counted  []string
}

func (w *environment) note(entry ...string) { w.log = append(w.log, entry) }

type recorder struct{ *environment }

func (r recorder) Event(_ runtime.Object, eventtype, reason, message string) {
	r.note("event", eventtype, reason, message)
}

func (r recorder) Eventf(object runtime.Object, eventtype, reason, format string, args ...interface{}) {
	r.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

func (r recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, eventtype, reason, format string, args ...interface{}) {
	r.Eventf(object, eventtype, reason, format, args...)
}

// results notes how a reconcile is counted.
type results struct {
	monitor.Monitor
	*environment
}

func (r results) ObserveReconciliationResult(action monitor.ActionLabel, err monitor.ErrorLabel, _ time.Duration) {
	r.counted = []string{string(action), string(err)}
}

type mapper struct {
	meta.RESTMapper
	*environment
}

func (m mapper) RESTMappings(gk schema.GroupKind, _ ...string) ([]*meta.RESTMapping, error) {
	if m.now.MappingError != "" {
		return nil, errors.New(m.now.MappingError)
	}
	resource := schema.GroupVersionResource{Group: gk.Group, Version: "v1", Resource: strings.ToLower(gk.Kind) + "s"}
	return []*meta.RESTMapping{{Resource: resource}}, nil
}

type scales struct {
	scaleclient.ScaleInterface
	*environment
}

func (s scales) Scales(string) scaleclient.ScaleInterface { return s }

func (s scales) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	if s.now.Scale.Error != "" {
		return nil, errors.New(s.now.Scale.Error)
	}
	if !s.now.Scale.Follow {
		s.replicas = s.now.Scale.Spec
	}
	return &autoscalingv1.Scale{
		Spec:   autoscalingv1.ScaleSpec{Replicas: s.replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: s.now.Scale.Status, Selector: s.now.Scale.Selector},
	}, nil
}

func (s scales) Update(_ context.Context, _ schema.GroupResource, scale *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	s.note("scale", fmt.Sprint(scale.Spec.Replicas))
	if s.now.Update != "" {
		return nil, errors.New(s.now.Update)
	}
	s.replicas = scale.Spec.Replicas
	return scale, nil
}

type autoscalers struct {
	autoscalingclient.HorizontalPodAutoscalerInterface
	*environment
}

func (a autoscalers) HorizontalPodAutoscalers(string) autoscalingclient.HorizontalPodAutoscalerInterface {
	return a
}

func (a autoscalers) UpdateStatus(_ context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler, _ metav1.UpdateOptions) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	a.note("status")
	a.status = hpa.Status.DeepCopy()
	return hpa, nil
}

// podLister keeps the order of the step: a cache would list in random order, and the first error is the one that is reported.
type podLister struct {
	corelisters.PodNamespaceLister
	*environment
}

func (l podLister) Pods(string) corelisters.PodNamespaceLister { return l }

func (l podLister) List(selector labels.Selector) (pods []*v1.Pod, err error) {
	for _, pod := range l.now.Pods {
		if selector.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

type resourceMetrics struct {
	resourceclient.PodMetricsInterface
	*environment
}

func (r resourceMetrics) PodMetricses(string) resourceclient.PodMetricsInterface { return r }

func (r resourceMetrics) List(context.Context, metav1.ListOptions) (*metricsapi.PodMetricsList, error) {
	if response := r.now.Metrics.Resource; response.Error != "" {
		return nil, errors.New(response.Error)
	}
	return r.now.Metrics.Resource.List.DeepCopy(), nil
}

type customMetrics struct {
	customclient.MetricsInterface
	*environment
}

type customClient struct{ *environment }

func (c customClient) RootScopedMetrics() customclient.MetricsInterface {
	return customMetrics{environment: c.environment}
}

func (c customClient) NamespacedMetrics(string) customclient.MetricsInterface {
	return customMetrics{environment: c.environment}
}

func (c customMetrics) GetForObjects(_ schema.GroupKind, _ labels.Selector, name string, _ labels.Selector) (*customapi.MetricValueList, error) {
	response := c.now.Metrics.Custom[name]
	if response.Error != "" {
		return nil, errors.New(response.Error)
	}
	return response.List.DeepCopy(), nil
}

func (c customMetrics) GetForObject(kind schema.GroupKind, object, name string, selector labels.Selector) (*customapi.MetricValue, error) {
	list, err := c.GetForObjects(kind, nil, name, selector)
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("the custom metrics API server returned %v results when we asked for exactly one", len(list.Items))
	}
	return &list.Items[0], nil
}

type externalMetrics struct {
	externalclient.MetricsInterface
	*environment
}

func (e externalMetrics) NamespacedMetrics(string) externalclient.MetricsInterface { return e }

func (e externalMetrics) List(name string, _ labels.Selector) (*externalapi.ExternalMetricValueList, error) {
	response := e.now.Metrics.External[name]
	if response.Error != "" {
		return nil, errors.New(response.Error)
	}
	return response.List.DeepCopy(), nil
}

// roundTrip is what the API server does to an object before it is read: times lose their fractions,
// and a quantity is printed in canonical form (1075000000 as 1075M).
func roundTrip[T any](given T) (json.RawMessage, T) {
	var back T
	encoded, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(encoded, &back)
	}
	if err == nil {
		encoded, err = json.Marshal(back)
	}
	if err != nil {
		panic(err)
	}
	return encoded, back
}
