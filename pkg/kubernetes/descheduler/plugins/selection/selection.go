// Package selection holds the arguments by which plugins select pods: namespaces,
// labels, kinds of owners.
package selection

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/yamltree"
)

// Names includes or excludes names, not both. Nil selects all.
type Names struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// Validate says what is wrong; what names the argument.
func (n *Names) Validate(what string) error {
	if n != nil && len(n.Include) > 0 && len(n.Exclude) > 0 {
		return fmt.Errorf("%s: only one of include and exclude can be set", what)
	}
	return nil
}

// Namespaces says which names can be none of a namespace; what names the argument. Patterns are none.
func (n *Names) Namespaces(what string) error {
	if n == nil {
		return nil
	}
	var errs []error
	for _, list := range []struct {
		key   string
		names []string
	}{{"include", n.Include}, {"exclude", n.Exclude}} {
		for i, name := range list.names {
			if len(validation.IsDNS1123Label(name)) > 0 {
				errs = append(errs, fmt.Errorf("%s.%s[%d]: must be the name of a namespace, not %q", what, list.key, i, name))
			}
		}
	}
	return errors.Join(errs...)
}

// ExcludeOnly is Validate where nothing can be included.
func (n *Names) ExcludeOnly(what string) error {
	if n != nil && len(n.Include) > 0 {
		return fmt.Errorf("%s: only exclude can be set", what)
	}
	return nil
}

// Has says whether a name is selected.
func (n *Names) Has(name string) bool {
	switch {
	case n == nil:
		return true
	case len(n.Include) > 0:
		return slices.Contains(n.Include, name)
	default:
		return !slices.Contains(n.Exclude, name)
	}
}

// Pods are the two arguments that most plugins have.
type Pods struct {
	Namespaces    *Names                `json:"namespaces,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// Validate returns all that is wrong.
func (p Pods) Validate() error {
	_, err := p.Selector()
	return errors.Join(p.Namespaces.Validate("namespaces"), p.Namespaces.Namespaces("namespaces"), err)
}

// Selector returns what says whether a pod is selected.
func (p Pods) Selector() (func(*v1.Pod) bool, error) {
	selector := labels.Everything()
	if p.LabelSelector != nil {
		s, err := metav1.LabelSelectorAsSelector(p.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("labelSelector: %w", err)
		}
		selector = s
	}
	return func(pod *v1.Pod) bool {
		return p.Namespaces.Has(pod.Namespace) && selector.Matches(labels.Set(pod.Labels))
	}, nil
}

// HasOwnerKind says whether a pod has an owner of one of the kinds.
func HasOwnerKind(pod *v1.Pod, kinds []string) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
		return slices.Contains(kinds, o.Kind)
	})
}

// Listed returns an error for each value that is not allowed or is there twice.
func Listed(what string, values, allowed []string) error {
	var errs []error
	for i, value := range values {
		if !slices.Contains(allowed, value) {
			errs = append(errs, fmt.Errorf("%s[%d]: %q is not known, %s", what, i, value, yamltree.Instead(value, allowed)))
		}
		if slices.Contains(values[:i], value) {
			errs = append(errs, fmt.Errorf("%s[%d]: %q is there twice", what, i, value))
		}
	}
	return errors.Join(errs...)
}
