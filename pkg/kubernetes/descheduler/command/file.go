package command

import (
	"fmt"
	"io"
	"os"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// A file is a policy file, with what is needed to read it.
type file struct {
	name     string
	lenient  bool
	registry *framework.Registry
	text     []byte // as it was read last
}

// changed reads the file, and says whether it is another text than before. Of one that is too long it
// reads no more than shows that.
func (f *file) changed() (bool, error) {
	from, err := os.Open(f.name)
	if err != nil {
		return false, fmt.Errorf("policy-config-file: %w", err)
	}
	defer func() { _ = from.Close() }()
	text, err := io.ReadAll(io.LimitReader(from, policy.TextMax+1))
	if err != nil {
		return false, fmt.Errorf("policy-config-file: %w", err)
	}
	if f.text != nil && string(text) == string(f.text) {
		return false, nil
	}
	f.text = text
	return true, nil
}

// load makes a policy of the text.
func (f *file) load() (*policy.Policy, []policy.Warning, error) {
	return policy.Load(f.text, f.registry, f.options())
}

func (f *file) options() policy.Options {
	return policy.Options{Lenient: f.lenient, Defaults: defaults(), ConfigurationDefaults: configurationDefaults()}
}

// loadOrTell is load for a command line: what is wrong is written as a compiler does.
func (f *file) loadOrTell(to io.Writer) (*policy.Policy, error) {
	p, warnings, err := f.load()
	for _, w := range warnings {
		fmt.Fprintf(to, "warning: %s\n", w.Format(f.name))
	}
	if err == nil {
		return p, nil
	}
	for _, one := range err.(policy.Problems) { //nolint:errorlint // the type that Load documents
		fmt.Fprintln(to, one.Format(f.name))
	}
	return nil, errPolicy
}

// together tells what is wrong with flags and the settings of a policy file in one.
func (s *settings) together(f *file, p *policy.Policy) error {
	both := *s
	warnings := both.adopt(&p.Settings)
	if both.leadsOneCycle() {
		warnings = append(warnings, "leaderElection: a single cycle needs no leader; give deschedulingInterval here, or the flag descheduling-interval")
	}
	if s.validate { // without it they are logged
		for _, w := range warnings {
			fmt.Fprintf(s.problems, "warning: %s: %s\n", f.name, w)
		}
	}
	err := both.check()
	if err == nil {
		return nil
	}
	fmt.Fprintf(s.problems, "%s: its settings do not go with the flags, or with their defaults:\n%s\n", f.name, err)
	return errPolicy
}

// write writes the policy with all defaults where the flags ask for it, and says whether
// the program ends with that. A policy that does not go with the flags is refused before.
func (s *settings) write(f *file, p *policy.Policy) (ends bool, err error) {
	if err := s.together(f, p); err != nil {
		return true, err
	}
	if !s.validate && s.writeTo == "" {
		return false, nil
	}
	text := policy.Print(p, f.registry, f.options())
	if s.writeTo != "" {
		if err := os.WriteFile(s.writeTo, text, 0o644); err != nil {
			return true, fmt.Errorf("write-config-to: %w", err)
		}
	}
	if s.validate {
		_, err = s.out.Write(text)
	}
	return true, err
}
