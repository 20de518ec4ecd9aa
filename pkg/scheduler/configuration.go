package scheduler

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A loaded is a configuration of the partitions of one resource manager that
// passed validation.
type loaded struct {
	partitions []api.Config // at least one
	checksum   string
	warnings   []string // what is right but hardly meant, for people to read
}

// load reads a configuration text; the empty one is the default. It is all that
// is known here of package config.
func load(text string, kinds *resources.Kinds, defaults config.Defaults) (loaded, error) {
	document, err := defaults.Load(text, kinds)
	if err != nil {
		return loaded{}, err
	}
	l := loaded{partitions: document.Partitions, checksum: document.Checksum}
	for _, problem := range document.Warnings {
		l.warnings = append(l.warnings, problem.String())
	}
	return l, nil
}

// UpdateConfiguration is UpdateConfigurationContext with a context that ends after
// Config.AnswerTimeout.
func (s *Scheduler) UpdateConfiguration(request *si.UpdateConfigurationRequest) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.AnswerTimeout)
	defer cancel()
	return s.UpdateConfigurationContext(ctx, request)
}

// UpdateConfigurationContext replaces the configuration of a resource manager. It is
// validated whole first: with an error the old one stays. One that has not
// changed does nothing; the extra configuration is taken over in any case but the
// following.
//
// A queue that is in use as a leaf cannot become a parent, nor the other way
// round, which only the owners of the partitions know: each checks and applies its part
// in one step. If one refuses, those before it get the old one back. The update waits for them, so a
// configuration that has changed must not be sent from within a callback. If the
// context ends first nothing is changed at all, and the error names the partition that
// does not answer and wraps ErrNotAnswering.
//
// Requests sent after it returned meet the new configuration. Partitions that are
// new start empty. What runs in partitions that are gone is released.
func (s *Scheduler) UpdateConfigurationContext(ctx context.Context, request *si.UpdateConfigurationRequest) error {
	if request == nil {
		return fmt.Errorf("update of configuration: %w", ErrNilRequest)
	}
	config, changed, err := s.check(ctx, request)
	if !errors.Is(err, ErrNotAnswering) {
		// Also beside a configuration that is refused.
		if refused := s.updateExtra(request); refused != nil {
			return fmt.Errorf("update of configuration: %w", refused)
		}
	}
	if err == nil && changed {
		changed, err = s.replace(ctx, request.RmID, config)
	}
	if err != nil {
		return fmt.Errorf("update of configuration of resource manager %q: %w", request.RmID, err)
	}
	if changed {
		s.loggers.of(logConfig).Info("configuration updated",
			zap.String("resourceManager", request.RmID), zap.String("checksum", config.checksum), zap.Int("partitions", len(config.partitions)))
		config.warn(s.loggers.of(logConfig), request.RmID)
	}
	return nil
}

// check reads the configuration of a request and says whether it is another one than
// the active one. The error says that it cannot take its place.
func (s *Scheduler) check(ctx context.Context, request *si.UpdateConfigurationRequest) (config loaded, changed bool, err error) {
	s.mu.RLock()
	r, err := s.registered(request.RmID)
	active := ""
	if err == nil {
		active = r.checksum
	}
	s.mu.RUnlock()
	if err != nil {
		return loaded{}, false, err
	}
	if config, err = load(request.Config, s.shareOf(request.RmID), s.config.Defaults); err != nil {
		return loaded{}, false, err
	}
	if config.checksum == active {
		return config, false, nil
	}
	return config, true, s.convertible(ctx, request.RmID, config.partitions)
}

// convertible asks every partition that stays whether its queues can become
// those of the configuration.
func (s *Scheduler) convertible(ctx context.Context, id string, configs []api.Config) error {
	for _, config := range configs {
		refused, err := s.ask(ctx, fullName(id, config.Name), func(p *core.Partition) error { return p.Convertible(config) })
		switch {
		case refused != nil:
			return fmt.Errorf("partition %s: %w", config.Name, refused)
		case err != nil && !errors.Is(err, ErrNoPartition):
			return err
		}
	}
	return nil
}
