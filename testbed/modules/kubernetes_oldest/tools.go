//go:build tools

// Package tools names the programs of the oldest supported Kubernetes, so that `go mod tidy` pins all they need.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
)
