package framework

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Factory builds a plugin for one profile. Args is what Definition.Args returned,
// filled from the policy and validated; nil where the plugin has none.
type Factory func(ctx context.Context, args any, handle Handle) (Plugin, error)

// Definition is a plugin that policies may name.
type Definition struct {
	// Name is unique in a registry.
	Name string
	// Points are the extension points at which it can be enabled.
	Points []Point
	// Args returns a pointer to new arguments that hold the defaults; nil where
	// the plugin has none. Keys are those of the json tags.
	Args func() any
	// Validate returns all that is wrong with arguments, joined with errors.Join;
	// nil where any arguments will do.
	Validate func(args any) error
	// New builds it.
	New Factory
	// TakeBack is of an evict plugin whose evictions take longer than EvictPod: it takes back those that were asked for by what
	// does not stand any more, since the policy is another one. It is called with each policy before its plugins
	// run, of all that are registered, not in a dry run. After an error it is called again. Nil: there is nothing to take back.
	TakeBack func(ctx context.Context, handle Handle, stands func(by Asker) bool) error
}

// An Asker is what asked an evict plugin for an eviction.
type Asker struct {
	Profile string // empty: any that has the evict plugin
	Plugin  string // empty: any
}

// Works says whether the plugin can be enabled at a point.
func (d Definition) Works(point Point) bool { return slices.Contains(d.Points, point) }

// Registry holds the plugins that policies may name. It is filled before it is
// used; after that it may be read concurrently. The zero value is empty.
type Registry struct {
	definitions map[string]Definition
}

// Register adds plugins. A name that is taken, or a definition without name,
// point or factory, is an error; those before it stay.
func (r *Registry) Register(definitions ...Definition) error {
	if r.definitions == nil {
		r.definitions = map[string]Definition{}
	}
	for _, d := range definitions {
		if err := r.check(d); err != nil {
			return err
		}
		r.definitions[d.Name] = d
	}
	return nil
}

// check returns what is wrong with a definition.
func (r *Registry) check(d Definition) error {
	if d.Name == "" || strings.ContainsAny(d.Name, " *\t\n") {
		return fmt.Errorf("plugin %q: a name has no spaces and no *", d.Name)
	}
	if _, taken := r.definitions[d.Name]; taken {
		return fmt.Errorf("plugin %q is registered twice", d.Name)
	}
	if d.New == nil {
		return fmt.Errorf("plugin %q has no factory", d.Name)
	}
	if len(d.Points) == 0 {
		return fmt.Errorf("plugin %q works at no extension point", d.Name)
	}
	for _, p := range d.Points {
		if !slices.Contains(Points(), p) {
			return fmt.Errorf("plugin %q: %q is no extension point", d.Name, p)
		}
	}
	return nil
}

// Find returns the plugin of a name.
func (r *Registry) Find(name string) (Definition, bool) {
	d, ok := r.definitions[name]
	return d, ok
}

// Names lists all plugins in alphabetical order.
func (r *Registry) Names() []string {
	names := make([]string, 0, len(r.definitions))
	for name := range r.definitions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
