// Package resources has quantities as programs written for YuniKorn read them.
package resources

import "github.com/apache/yunikorn-scheduler-interface/lib/go/si"

// A Quantity is how much of one kind there is: thousandths of vcore, bytes of memory,
// pieces of all else.
type Quantity int64

// A Resource is quantities by kind. It is a copy: changing it changes nothing else.
type Resource struct {
	Resources map[string]Quantity
}

// ToProto is the resource in the scheduler-interface; of nil, nothing of every kind.
func (r *Resource) ToProto() *si.Resource {
	out := &si.Resource{Resources: map[string]*si.Quantity{}}
	if r == nil {
		return out
	}
	for kind, quantity := range r.Resources {
		out.Resources[kind] = &si.Quantity{Value: int64(quantity)}
	}
	return out
}
