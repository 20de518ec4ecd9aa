package framework

import (
	"context"
	"fmt"
)

// Typed completes a definition whose arguments are of one type, so that a plugin need not ask
// for the type and validate again before it is built. Validate may be nil where any arguments will
// do. A definition without Args gets zero values.
func Typed[A any](d Definition, validate func(*A) error, build func(*A, Handle) (Plugin, error)) Definition {
	typed := func(args any) (*A, error) {
		a, ok := args.(*A)
		switch {
		case !ok || a == nil:
			return nil, fmt.Errorf("arguments of %s are of type %T", d.Name, args)
		case validate == nil:
			return a, nil
		}
		return a, validate(a)
	}
	if d.Args == nil {
		d.Args = func() any { return new(A) }
	}
	d.Validate = func(args any) error {
		_, err := typed(args)
		return err
	}
	d.New = func(_ context.Context, args any, handle Handle) (Plugin, error) {
		a, err := typed(args)
		if err != nil {
			return nil, err
		}
		return build(a, handle)
	}
	return d
}
