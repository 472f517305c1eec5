// Runs KEDA's fallback and scale executor on cases from stdin, and writes what they want to stdout.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	fakescale "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/fallback"
	"github.com/kedacore/keda/v2/pkg/scaling/executor"
)

type fallbackCase struct {
	Target   string `json:"target"`
	Type     string `json:"type"`
	Behavior string `json:"behavior"`
	Replicas int32  `json:"replicas"`
	Current  int32  `json:"current"`
	Ready    int32  `json:"ready"`
	// ValueMilli is nil if KEDA reports an error.
	ValueMilli *int64 `json:"valueMilli"`
}

type zeroCase struct {
	Current         int32 `json:"current"`
	MinReplicas     int32 `json:"minReplicas"`
	IsActive        bool  `json:"isActive"`
	IsError         bool  `json:"isError"`
	CooldownSeconds int32 `json:"cooldownSeconds"`
	InactiveSeconds int64 `json:"inactiveSeconds"`
	Replicas        int32 `json:"replicas"`
}

type cases struct {
	Fallbacks []fallbackCase `json:"fallbacks"`
	Zeros     []zeroCase     `json:"zeros"`
}

const namespace, name = "shop", "web"

var labels = map[string]string{"app": name}

func main() {
	var given cases
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		log.Fatal(err)
	}
	for i := range given.Fallbacks {
		runFallback(&given.Fallbacks[i])
	}
	for i := range given.Zeros {
		runZero(&given.Zeros[i])
	}
	if err := json.NewEncoder(os.Stdout).Encode(given); err != nil {
		log.Fatal(err)
	}
}

func runFallback(c *fallbackCase) {
	object := scaledObject()
	object.Spec.Fallback = &kedav1alpha1.Fallback{Replicas: c.Replicas, Behavior: c.Behavior}
	target := resource.MustParse(c.Target)
	metric := v2.MetricSpec{External: &v2.ExternalMetricSource{Target: v2.MetricTarget{
		Type: v2.MetricTargetType(c.Type), Value: &target, AverageValue: &target,
	}}}
	client, _, scales := world(object, c.Current, c.Ready)
	found, _, err := fallback.GetMetricsWithFallback(
		context.Background(), client, scales, nil, errors.New("down"), "queue", object, metric)
	if err == nil {
		value := found[0].Value.MilliValue()
		c.ValueMilli = &value
	}
}

func runZero(c *zeroCase) {
	object := scaledObject()
	object.Spec.MinReplicaCount = &c.MinReplicas
	object.Spec.CooldownPeriod = &c.CooldownSeconds
	lastActive := metav1.NewTime(time.Now().Add(-time.Duration(c.InactiveSeconds) * time.Second))
	object.Status.LastActiveTime = &lastActive
	client, count, scales := world(object, c.Current, c.Current)
	scaler := executor.NewScaleExecutor(client, scales, scheme.Scheme, record.NewFakeRecorder(100))
	scaler.RequestScale(context.Background(), object, c.IsActive, c.IsError, &executor.ScaleExecutorOptions{})
	c.Replicas = *count
}

func scaledObject() *kedav1alpha1.ScaledObject {
	kind := kedav1alpha1.GroupVersionKindResource{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments"}
	return &kedav1alpha1.ScaledObject{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour))},
		Spec:       kedav1alpha1.ScaledObjectSpec{ScaleTargetRef: &kedav1alpha1.ScaleTarget{Name: name}},
		Status:     kedav1alpha1.ScaledObjectStatus{ScaleTargetGVKR: &kind, ScaleTargetKind: "apps/v1.Deployment"},
	}
}

// world has the Deployment, its ready pods and its scale; the pointer shows the replicas that were written last.
func world(object *kedav1alpha1.ScaledObject, current, ready int32) (runtimeclient.Client, *int32, *fakescale.FakeScaleClient) {
	if err := kedav1alpha1.AddToScheme(scheme.Scheme); err != nil {
		log.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	objects := []runtimeclient.Object{object, &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &current}}}
	for i := range ready {
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint(name, "-", i), Labels: labels},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	client := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithStatusSubresource(object).Build()
	count := current
	scales := &fakescale.FakeScaleClient{}
	scales.AddReactor("get", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &autoscalingv1.Scale{
			ObjectMeta: meta,
			Spec:       autoscalingv1.ScaleSpec{Replicas: current},
			Status:     autoscalingv1.ScaleStatus{Replicas: current, Selector: "app=" + name},
		}, nil
	})
	scales.AddReactor("update", "deployments", func(action clienttesting.Action) (bool, runtime.Object, error) {
		scale := action.(clienttesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
		count = scale.Spec.Replicas
		return true, scale, nil
	})
	return client, &count, scales
}
