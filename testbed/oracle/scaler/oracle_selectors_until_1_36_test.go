//go:build !since_1_37

package podautoscaler

// The selectors of all autoscalers, as the controller stores them up to 1.36.

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/controller/util/selectors"
)

func (a *HorizontalController) prepare() { a.selectEach(nil) }

func (a *HorizontalController) selectEach(stored map[string]labels.Selector) {
	a.hpaSelectors = selectors.NewBiMultimap()
	for key, selector := range stored {
		a.hpaSelectors.PutSelector(selectors.Parse(key), selector)
	}
}
