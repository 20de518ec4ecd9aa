package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// newFeasibility is the filter plugins of kube-scheduler, which are not part of this
// repository yet.
func newFeasibility(context.Context, kubernetes.Interface, informers.SharedInformerFactory, time.Duration) (shim.Feasibility, error) {
	return nil, errors.New("there are no filter plugins yet")
}
