package podautoscaler

// Upstream's own test cases as vectors: while the controller's test suite runs, all inputs of a reconcile,
// a metric or a normalization is written to $TAPE_OUTPUT as an input of the oracle. The build has renamed the
// functions that are recorded here to ...AsShipped (see build.py); what they do is unchanged.

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	scaleclient "k8s.io/client-go/scale"
	metricsclient "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/features"
	customapi "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalapi "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsapi "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	customclient "k8s.io/metrics/pkg/client/custom_metrics"
	externalclient "k8s.io/metrics/pkg/client/external_metrics"
)

// The clock of the oracle starts here; whole seconds keep the replay exact.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

var tape struct {
	sync.Mutex
	now     *step
	scaleOK bool
}

func wholeSeconds(t time.Time) float64 { return math.Floor(t.Sub(epoch).Seconds()) }

func (m memory) inWholeSeconds() memory {
	for _, list := range [][]entry{m.Recommendations, m.Up, m.Down} {
		for i := range list {
			list[i].At = math.Floor(list[i].At)
		}
	}
	return m
}

func write(q oracleCase) {
	encoded, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	file, err := os.OpenFile(os.Getenv("TAPE_OUTPUT"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.Write(append(encoded, '\n')); err != nil {
		panic(err)
	}
}

func gates() settings {
	on := utilfeature.DefaultFeatureGate.Enabled
	return settings{
		ScaleToZero:           on(features.HPAScaleToZero),
		ConfigurableTolerance: on(features.HPAConfigurableTolerance),
		PodLevelResources:     on(features.PodLevelResources),
		Tolerance:             defaultTestingTolerance,
	}
}

// Whole reconciles.

func (a *HorizontalController) reconcileAutoscaler(ctx context.Context, hpa *autoscalingv2.HorizontalPodAutoscaler, key string) error {
	tape.Lock()
	defer tape.Unlock()
	s := gates()
	s.Tolerance = a.tolerance
	s.DownscaleStabilizationSeconds = a.downscaleStabilisationWindow.Seconds()
	s.CPUInitializationSeconds = a.replicaCalc.cpuInitializationPeriod.Seconds()
	s.InitialReadinessDelaySeconds = a.replicaCalc.delayOfInitialReadinessStatus.Seconds()
	pods, err := a.podLister.Pods(hpa.Namespace).List(labels.Everything())
	if err != nil {
		panic(err)
	}
	tape.now, tape.scaleOK = &step{AtSeconds: wholeSeconds(time.Now()), HPA: hpa.DeepCopy(), Pods: pods, Metrics: newAnswers()}, false
	q := oracleCase{Mode: "reconcile", Settings: s, Memory: a.recall(key, epoch).inWholeSeconds()}
	shipped := a.scaleNamespacer
	a.scaleNamespacer = tapedScales{shipped}
	err = a.reconcileAsShipped(ctx, hpa, key)
	a.scaleNamespacer = shipped
	if tape.scaleOK || tape.now.Scale.Error != "" {
		q.Steps = []step{*tape.now}
		write(q)
	}
	tape.now = nil
	return err
}

type tapedScales struct{ scaleclient.ScalesGetter }

func (t tapedScales) Scales(namespace string) scaleclient.ScaleInterface {
	return tapedScale{t.ScalesGetter.Scales(namespace)}
}

type tapedScale struct{ scaleclient.ScaleInterface }

func (t tapedScale) Get(ctx context.Context, resource schema.GroupResource, name string, options metav1.GetOptions) (*autoscalingv1.Scale, error) {
	scale, err := t.ScaleInterface.Get(ctx, resource, name, options)
	if err != nil && !tape.scaleOK {
		tape.now.Scale.Error = err.Error()
	}
	if err == nil && !tape.scaleOK {
		tape.scaleOK = true
		tape.now.Scale = scaleAnswer{Spec: scale.Spec.Replicas, Status: scale.Status.Replicas, Selector: scale.Status.Selector}
	}
	return scale, err
}

func (t tapedScale) Update(ctx context.Context, resource schema.GroupResource, scale *autoscalingv1.Scale, options metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	updated, err := t.ScaleInterface.Update(ctx, resource, scale, options)
	tape.now.Update = ""
	if err != nil {
		tape.now.Update = err.Error()
	}
	return updated, err
}

// Responses of the metrics APIs.

func newAnswers() metricAnswers {
	return metricAnswers{
		Custom:   map[string]answer[customapi.MetricValueList]{},
		External: map[string]answer[externalapi.ExternalMetricValueList]{},
	}
}

func recorded[T any](list *T, err error) (a answer[T]) {
	if err != nil {
		a.Error = err.Error()
	} else {
		a.List = *list
	}
	return a
}

func tapedMetricsClient(r resourceclient.PodMetricsesGetter, c customclient.CustomMetricsClient, e externalclient.ExternalMetricsClient) metricsclient.MetricsClient {
	return metricsclient.NewRESTMetricsClient(tapedResource{r}, tapedCustomClient{c}, tapedExternalClient{e})
}

type tapedResource struct {
	resourceclient.PodMetricsesGetter
}

func (t tapedResource) PodMetricses(namespace string) resourceclient.PodMetricsInterface {
	return tapedPodMetrics{t.PodMetricsesGetter.PodMetricses(namespace)}
}

type tapedPodMetrics struct {
	resourceclient.PodMetricsInterface
}

func (t tapedPodMetrics) List(ctx context.Context, options metav1.ListOptions) (*metricsapi.PodMetricsList, error) {
	list, err := t.PodMetricsInterface.List(ctx, options)
	tape.now.Metrics.Resource = recorded(list, err)
	return list, err
}

type tapedCustomClient struct {
	customclient.CustomMetricsClient
}

func (t tapedCustomClient) RootScopedMetrics() customclient.MetricsInterface {
	return tapedCustom{t.CustomMetricsClient.RootScopedMetrics()}
}

func (t tapedCustomClient) NamespacedMetrics(namespace string) customclient.MetricsInterface {
	return tapedCustom{t.CustomMetricsClient.NamespacedMetrics(namespace)}
}

type tapedCustom struct{ customclient.MetricsInterface }

func (t tapedCustom) GetForObjects(kind schema.GroupKind, selector labels.Selector, name string, metricSelector labels.Selector) (*customapi.MetricValueList, error) {
	list, err := t.MetricsInterface.GetForObjects(kind, selector, name, metricSelector)
	tape.now.Metrics.Custom[name] = recorded(list, err)
	return list, err
}

func (t tapedCustom) GetForObject(kind schema.GroupKind, object, name string, metricSelector labels.Selector) (*customapi.MetricValue, error) {
	one, err := t.MetricsInterface.GetForObject(kind, object, name, metricSelector)
	list := &customapi.MetricValueList{}
	if err == nil {
		list.Items = append(list.Items, *one)
	}
	tape.now.Metrics.Custom[name] = recorded(list, err)
	return one, err
}

type tapedExternalClient struct {
	externalclient.ExternalMetricsClient
}

func (t tapedExternalClient) NamespacedMetrics(namespace string) externalclient.MetricsInterface {
	return tapedExternal{t.ExternalMetricsClient.NamespacedMetrics(namespace)}
}

type tapedExternal struct {
	externalclient.MetricsInterface
}

func (t tapedExternal) List(name string, selector labels.Selector) (*externalapi.ExternalMetricValueList, error) {
	list, err := t.MetricsInterface.List(name, selector)
	tape.now.Metrics.External[name] = recorded(list, err)
	return list, err
}

// Single metrics: when the calculator is called outside of a reconcile.

func (c *ReplicaCalculator) record(namespace string, selector labels.Selector, scale scaleAnswer, tolerances Tolerances, metric autoscalingv2.MetricSpec, call func()) {
	if tape.now != nil {
		call()
		return
	}
	tape.Lock()
	defer tape.Unlock()
	s := gates()
	s.ConfigurableTolerance = true
	s.CPUInitializationSeconds = c.cpuInitializationPeriod.Seconds()
	s.InitialReadinessDelaySeconds = c.delayOfInitialReadinessStatus.Seconds()
	pods, err := c.podLister.Pods(namespace).List(labels.Everything())
	if err != nil {
		panic(err)
	}
	if selector != nil {
		scale.Selector = selector.String()
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"},
			MaxReplicas:    math.MaxInt32,
			Metrics:        []autoscalingv2.MetricSpec{metric},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleUp:   &autoscalingv2.HPAScalingRules{Tolerance: quantity(tolerances.scaleUp)},
				ScaleDown: &autoscalingv2.HPAScalingRules{Tolerance: quantity(tolerances.scaleDown)},
			},
		},
	}
	tape.now = &step{AtSeconds: wholeSeconds(time.Now()), HPA: hpa, Pods: pods, Scale: scale, Metrics: newAnswers()}
	call()
	write(oracleCase{Mode: "metrics", Settings: s, Steps: []step{*tape.now}})
	tape.now = nil
}

func quantity(tolerance float64) *resource.Quantity {
	return resource.NewScaledQuantity(int64(math.Round(tolerance*1e9)), resource.Nano)
}

func milliQuantity(value int64) *resource.Quantity {
	return resource.NewMilliQuantity(value, resource.DecimalSI)
}

func resourceMetric(name v1.ResourceName, container string, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	if container != "" {
		return autoscalingv2.MetricSpec{
			Type:              autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricSource{Name: name, Container: container, Target: target},
		}
	}
	return autoscalingv2.MetricSpec{
		Type:     autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{Name: name, Target: target},
	}
}

func (c *ReplicaCalculator) GetResourceReplicas(ctx context.Context, currentReplicas int32, targetUtilization int32, name v1.ResourceName, tolerances Tolerances, namespace string, selector labels.Selector, container string) (replicas int32, utilization int32, raw int64, at time.Time, err error) {
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &targetUtilization}
	c.record(namespace, selector, scaleAnswer{Spec: currentReplicas}, tolerances, resourceMetric(name, container, target), func() {
		replicas, utilization, raw, at, err = c.getResourceReplicasAsShipped(ctx, currentReplicas, targetUtilization, name, tolerances, namespace, selector, container)
	})
	return
}

func (c *ReplicaCalculator) GetRawResourceReplicas(ctx context.Context, currentReplicas int32, targetUsage int64, name v1.ResourceName, tolerances Tolerances, namespace string, selector labels.Selector, container string) (replicas int32, usage int64, at time.Time, err error) {
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: milliQuantity(targetUsage)}
	c.record(namespace, selector, scaleAnswer{Spec: currentReplicas}, tolerances, resourceMetric(name, container, target), func() {
		replicas, usage, at, err = c.getRawResourceReplicasAsShipped(ctx, currentReplicas, targetUsage, name, tolerances, namespace, selector, container)
	})
	return
}

func (c *ReplicaCalculator) GetMetricReplicas(currentReplicas int32, targetUsage int64, metricName string, tolerances Tolerances, namespace string, selector labels.Selector, metricSelector labels.Selector) (replicas int32, usage int64, at time.Time, err error) {
	metric := autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: metricName},
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: milliQuantity(targetUsage)},
	}}
	c.record(namespace, selector, scaleAnswer{Spec: currentReplicas}, tolerances, metric, func() {
		replicas, usage, at, err = c.getMetricReplicasAsShipped(currentReplicas, targetUsage, metricName, tolerances, namespace, selector, metricSelector)
	})
	return
}

func objectSpec(name string, object *autoscalingv2.CrossVersionObjectReference, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
		DescribedObject: *object,
		Metric:          autoscalingv2.MetricIdentifier{Name: name},
		Target:          target,
	}}
}

func externalSpec(name string, selector *metav1.LabelSelector, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: name, Selector: selector},
		Target: target,
	}}
}

func valueTarget(value int64) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: milliQuantity(value)}
}

func averageTarget(value int64) autoscalingv2.MetricTarget {
	return autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: milliQuantity(value)}
}

func (c *ReplicaCalculator) GetObjectMetricReplicas(currentReplicas int32, targetUsage int64, metricName string, tolerances Tolerances, namespace string, objectRef *autoscalingv2.CrossVersionObjectReference, selector labels.Selector, metricSelector labels.Selector) (replicas int32, usage int64, at time.Time, err error) {
	c.record(namespace, selector, scaleAnswer{Spec: currentReplicas}, tolerances, objectSpec(metricName, objectRef, valueTarget(targetUsage)), func() {
		replicas, usage, at, err = c.getObjectMetricReplicasAsShipped(currentReplicas, targetUsage, metricName, tolerances, namespace, objectRef, selector, metricSelector)
	})
	return
}

func (c *ReplicaCalculator) GetObjectPerPodMetricReplicas(statusReplicas int32, targetAverageUsage int64, metricName string, tolerances Tolerances, namespace string, objectRef *autoscalingv2.CrossVersionObjectReference, metricSelector labels.Selector) (replicas int32, usage int64, at time.Time, err error) {
	c.record(namespace, nil, scaleAnswer{Spec: statusReplicas, Status: statusReplicas}, tolerances, objectSpec(metricName, objectRef, averageTarget(targetAverageUsage)), func() {
		replicas, usage, at, err = c.getObjectPerPodMetricReplicasAsShipped(statusReplicas, targetAverageUsage, metricName, tolerances, namespace, objectRef, metricSelector)
	})
	return
}

func (c *ReplicaCalculator) GetExternalMetricReplicas(currentReplicas int32, targetUsage int64, metricName string, tolerances Tolerances, namespace string, metricSelector *metav1.LabelSelector, podSelector labels.Selector) (replicas int32, usage int64, at time.Time, err error) {
	c.record(namespace, podSelector, scaleAnswer{Spec: currentReplicas}, tolerances, externalSpec(metricName, metricSelector, valueTarget(targetUsage)), func() {
		replicas, usage, at, err = c.getExternalMetricReplicasAsShipped(currentReplicas, targetUsage, metricName, tolerances, namespace, metricSelector, podSelector)
	})
	return
}

func (c *ReplicaCalculator) GetExternalPerPodMetricReplicas(statusReplicas int32, targetUsagePerPod int64, metricName string, tolerances Tolerances, namespace string, metricSelector *metav1.LabelSelector) (replicas int32, usage int64, at time.Time, err error) {
	c.record(namespace, nil, scaleAnswer{Spec: statusReplicas, Status: statusReplicas}, tolerances, externalSpec(metricName, metricSelector, averageTarget(targetUsagePerPod)), func() {
		replicas, usage, at, err = c.getExternalPerPodMetricReplicasAsShipped(statusReplicas, targetUsagePerPod, metricName, tolerances, namespace, metricSelector)
	})
	return
}

// Normalization: when its parts are called outside of a reconcile.

func (a *HorizontalController) recordNormalization(args NormalizationArg, spec autoscalingv2.HorizontalPodAutoscalerSpec) {
	if tape.now != nil {
		return
	}
	tape.Lock()
	defer tape.Unlock()
	spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}
	spec.MinReplicas = &args.MinReplicas
	spec.MaxReplicas = args.MaxReplicas
	if args.MaxReplicas == 0 { // not used by the called function
		spec.MaxReplicas = math.MaxInt32
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}, Spec: spec}
	q := oracleCase{Mode: "normalize", Settings: gates(), Normalize: normalization{Current: args.CurrentReplicas, Desired: args.DesiredReplicas}}
	q.Memory = a.recall(args.Key, epoch).inWholeSeconds()
	q.Settings.DownscaleStabilizationSeconds = 300
	q.Steps = []step{{AtSeconds: wholeSeconds(time.Now()), HPA: hpa}}
	write(q)
}

func filled(rules *autoscalingv2.HPAScalingRules) *autoscalingv2.HPAScalingRules {
	window, selected := int32(0), autoscalingv2.MaxChangePolicySelect
	if rules == nil {
		rules = &autoscalingv2.HPAScalingRules{}
	}
	rules = rules.DeepCopy()
	if rules.StabilizationWindowSeconds == nil {
		rules.StabilizationWindowSeconds = &window
	}
	if rules.SelectPolicy == nil {
		rules.SelectPolicy = &selected
	}
	if rules.Policies == nil {
		rules.Policies = []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 1000, PeriodSeconds: 15}}
	}
	return rules
}

func withBehavior(args NormalizationArg) (spec autoscalingv2.HorizontalPodAutoscalerSpec) {
	spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: filled(args.ScaleUpBehavior), ScaleDown: filled(args.ScaleDownBehavior)}
	return spec
}

func (a *HorizontalController) convertDesiredReplicasWithBehaviorRate(args NormalizationArg) (int32, string, string) {
	a.recordNormalization(args, withBehavior(args))
	return a.convertDesiredReplicasWithBehaviorRateAsShipped(args)
}

func (a *HorizontalController) stabilizeRecommendationWithBehaviors(args NormalizationArg) (int32, string, string) {
	a.recordNormalization(args, withBehavior(args))
	return a.stabilizeRecommendationWithBehaviorsAsShipped(args)
}

func convertDesiredReplicasWithRules(currentReplicas, desiredReplicas, hpaMinReplicas, hpaMaxReplicas int32) (int32, string, string) {
	args := NormalizationArg{MinReplicas: hpaMinReplicas, MaxReplicas: hpaMaxReplicas, CurrentReplicas: currentReplicas, DesiredReplicas: desiredReplicas}
	(&HorizontalController{}).recordNormalization(args, autoscalingv2.HorizontalPodAutoscalerSpec{})
	return convertDesiredReplicasWithRulesAsShipped(currentReplicas, desiredReplicas, hpaMinReplicas, hpaMaxReplicas)
}
