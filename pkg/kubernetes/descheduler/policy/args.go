package policy

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	validation "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// valueOf is what a pointer points at.
func valueOf(pointer any) reflect.Value { return reflect.ValueOf(pointer).Elem() }

// readArgs reads the arguments of one plugin over its defaults.
func (l *loader) readArgs(config *pluginConfig, given bool) {
	d, ok := l.find(config.mention)
	if !ok {
		config.failed = true
		return
	}
	if config.values = argsOf(d); !given {
		return
	}
	into := reflect.ValueOf(new(struct{})).Elem()
	if config.values != nil {
		into = valueOf(config.values)
	}
	before := len(l.problems)
	config.args.decodeStruct(into, "apiVersion", "kind")
	config.failed = len(l.problems) > before
}

// argsOf are new arguments with defaults; nil where the plugin has none.
func argsOf(d framework.Definition) any {
	if d.Args == nil {
		return nil
	}
	return d.Args()
}

// completeArgs gives an enabled plugin its arguments and validates them.
func (l *loader) completeArgs(w *written, name string) {
	at, mentioned := w.mentioned(name)
	d, ok := l.registry.Find(name)
	if !ok {
		if !mentioned {
			w.at.fail("the default plugin %s is not registered", name)
		}
		return
	}
	i := slices.IndexFunc(w.configs, func(c pluginConfig) bool { return c.name == name })
	if i < 0 {
		values := argsOf(d)
		w.profile.Args[name] = values
		at.validate(d, values, true)
		return
	}
	config := w.configs[i]
	w.profile.Args[name] = config.values
	if config.limit != nil {
		w.profile.Limit[name] = *config.limit
	}
	if config.failed {
		return
	}
	before := len(l.problems)
	config.args.validate(d, config.values, false)
	if len(l.problems) == before {
		l.measure(config)
	}
}

// mentioned is where a plugin is enabled first; the profile and false where it is only
// a default.
func (w *written) mentioned(name string) (cursor, bool) {
	for _, point := range framework.Points() {
		if s := w.sets[point]; s != nil {
			for _, m := range s.enabled {
				if m.name == name {
					return m.at, true
				}
			}
		}
	}
	return w.at, false
}

// validate reports what the plugin says of its arguments, each where the key stands
// that the plugin names.
func (c cursor) validate(d framework.Definition, values any, defaults bool) {
	if d.Validate == nil || values == nil {
		return
	}
	for _, err := range split(d.Validate(values)) {
		if defaults {
			c.fail("%s needs arguments in pluginConfig: %s", d.Name, err)
			continue
		}
		at, rest := c.under(err)
		at.fail("%s", rest)
	}
}

// split lists the errors that are joined in one.
func split(err error) []error {
	switch joined := err.(type) { //nolint:errorlint // one that is wrapped is one problem
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		var list []error
		for _, one := range joined.Unwrap() {
			list = append(list, split(one)...)
		}
		return list
	case interface{ Errors() []error }:
		return joined.Errors()
	}
	return []error{err}
}

// under is the key that an error begins with, and the rest of its text.
func (c cursor) under(err error) (cursor, string) {
	text := err.Error()
	if one, ok := errors.AsType[*validation.Error](err); ok {
		text = fmt.Sprintf("%s: %s", one.Field, one.ErrorBody())
	}
	path, rest, ok := strings.Cut(text, ": ")
	if !ok || strings.ContainsAny(path, " ") {
		return c, text
	}
	at, left := c.follow(strings.TrimPrefix(path, "args."))
	if left != "" {
		return at, left + ": " + rest
	}
	return at, rest
}

// follow goes along keys such as conditions[1].type as far as the text has them, and returns what is
// left of them. A key may have dots, as names of resources do.
func (c cursor) follow(path string) (at cursor, left string) {
	for path != "" {
		key, index := path, ""
		rest := ""
		value, ok := c.Find(key)
		if !ok {
			key, rest, _ = strings.Cut(path, ".")
			key, index, _ = strings.Cut(key, "[")
			value, ok = c.Find(key)
		}
		if !ok {
			return c, path
		}
		c, path = c.moved(value), rest
		if i, err := strconv.Atoi(strings.TrimSuffix(index, "]")); err == nil && i < len(c.Items()) {
			c = c.moved(c.Items()[i])
		}
	}
	return c, ""
}
