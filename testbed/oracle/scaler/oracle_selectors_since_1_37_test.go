//go:build since_1_37

package podautoscaler

// The selectors of all autoscalers, as the controller stores them since 1.37, and the versions of written statuses.

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/controller/util/consistency"
	"k8s.io/kubernetes/pkg/controller/util/selectors"
)

func (a *HorizontalController) prepare() {
	// Whether a reconcile is skipped is decided before the code that the oracle runs.
	a.consistencyStore = consistency.NewNoopConsistencyStore()
	a.selectEach(nil)
}

func (a *HorizontalController) selectEach(stored map[string]labels.Selector) {
	a.selectorTracker = newHPASelectorStore()
	for name, selector := range stored {
		key := selectors.Parse(name)
		a.selectorTracker.PutIfAbsent(key.Namespace, key, selector)
	}
}
