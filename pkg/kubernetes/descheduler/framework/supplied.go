package framework

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
)

// Supplied makes a plugin of an Evictor, as the design of the descheduler framework has it: at filter, its
// Filter is asked, and at evict, its Evict carries evictions out.
func Supplied(name string, build func(ctx context.Context, handle Handle) (Evictor, error)) Definition {
	return Definition{Name: name, Points: []Point{Filter, Evict}, New: func(ctx context.Context, _ any, handle Handle) (Plugin, error) {
		e, err := build(ctx, handle)
		if err != nil {
			return nil, err
		}
		return supplied{name, e}, nil
	}}
}

type supplied struct {
	name    string
	evictor Evictor
}

var (
	_ FilterPlugin = supplied{}
	_ EvictPlugin  = supplied{}

	errFiltered   = errors.New("the evictor does not let it go")
	errNotEvicted = errors.New("the evictor did not evict it")
)

// Name implements Plugin.
func (s supplied) Name() string { return s.name }

// Filter implements FilterPlugin.
func (s supplied) Filter(pod *v1.Pod) error {
	if s.evictor.Filter(pod) {
		return nil
	}
	return errFiltered
}

// EvictPod implements EvictPlugin. An Evictor does not say why it did not evict a pod, so the pod stays for now.
func (s supplied) EvictPod(ctx context.Context, pod *v1.Pod, options EvictOptions) error {
	if s.evictor.Evict(ctx, pod, options) {
		return nil
	}
	return errors.Join(ctx.Err(), &RefusedError{By: s.name, Reason: errNotEvicted.Error(), Err: errNotEvicted})
}
