//go:build tools

// Package tools names the programs built from this module, so that `go mod tidy` pins all they need.
package tools

import (
	_ "github.com/thanos-io/thanos/cmd/thanos"
)
