package scheduler

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// The loggers of a scheduler: what their lines are about. Operators know the names from
// the keys log.<logger>.level.
const (
	logAllocations  = "core.scheduler.allocation"
	logApplications = "core.scheduler.application"
	logUsage        = "core.scheduler.application.usage"
	logNodes        = "core.scheduler.node"
	logPreemption   = "core.scheduler.preemption"
	logScheduler    = "core.scheduler"
	logConfig       = "core.config"
	logRequests     = "core.rmproxy" // of resource managers, and their callbacks
	logGroups       = "core.security"
	logEvents       = "core.events"
)

// allLoggers are those of schedulers and of what belongs to them, beside which a level says nothing.
var allLoggers = []string{
	logAllocations, logApplications, logUsage, logNodes, logPreemption, logScheduler, logConfig, logRequests, logGroups, logEvents,
	"core.rest", "core.scheduler.health",
}

// loggers make a logger for each name. Each writes where the logger of the
// configuration does, from a level of its own on, or from the same where none is set.
type loggers struct {
	base *zap.Logger

	mu     sync.Mutex
	levels map[string]zapcore.Level // as set, by name or the beginning of one
	made   map[string]*namedLogger
}

type namedLogger struct {
	*zap.Logger
	own *atomic.Int32 // the level; noLevel is that of the logger below
}

const noLevel = math.MinInt32

func newLoggers(base *zap.Logger) *loggers {
	return &loggers{base: base, made: map[string]*namedLogger{}}
}

// of is the logger of a name, which is always the same.
func (l *loggers) of(name string) *zap.Logger {
	l.mu.Lock()
	defer l.mu.Unlock()
	if made := l.made[name]; made != nil {
		return made.Logger
	}
	own := new(atomic.Int32)
	own.Store(l.level(name))
	made := &namedLogger{l.base.WithOptions(zap.WrapCore(func(below zapcore.Core) zapcore.Core { return leveled{below, own} })), own}
	l.made[name] = made
	return made.Logger
}

// set replaces all levels.
func (l *loggers) set(levels map[string]zapcore.Level) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.levels = levels
	for name, made := range l.made {
		made.own.Store(l.level(name))
	}
}

// configure sets the levels that an extra configuration names: that of all loggers (log.level),
// if it can be changed, and of those that have one of their own (log.core.level). One that is not
// there any more is that of all again.
func (l *loggers) configure(extra map[string]string, all *zap.AtomicLevel) {
	levels := map[string]zapcore.Level{}
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		name, ours := loggerOf(key)
		if !ours || name == "" && all == nil {
			continue
		}
		switch level, ok := logLevel(extra[key]); {
		case !ok:
			l.of(logConfig).Warn("log level not understood", zap.String("key", key), zap.String("level", extra[key]))
		case name == "":
			all.SetLevel(level)
		default:
			levels[name] = level
			if !l.exists(name) {
				l.of(logConfig).Warn("log level has no effect, as there is no such logger", zap.String("key", key))
			}
		}
	}
	l.set(levels)
}

// exists reports whether a level of a name is that of some logger.
func (l *loggers) exists(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(slices.AppendSeq(slices.Clone(allLoggers), maps.Keys(l.made)), func(one string) bool {
		return one == name || strings.HasPrefix(one, name+".")
	})
}

// loggerOf is the logger of which a key of the extra configuration is the level; empty
// for log.level, which is that of all.
func loggerOf(key string) (name string, ok bool) {
	if key == "log.level" {
		return "", true
	}
	name, isLog := strings.CutPrefix(key, "log.")
	name, isLevel := strings.CutSuffix(name, ".level")
	ours := name == "core" || strings.HasPrefix(name, "core.")
	return name, isLog && isLevel && ours
}

// logLevel reads a level, by name or by number as zap counts them.
func logLevel(text string) (level zapcore.Level, ok bool) {
	if number, err := strconv.ParseInt(text, 10, 8); err == nil {
		return zapcore.Level(number), number >= int64(zap.DebugLevel) && number <= int64(zap.FatalLevel)
	}
	level, err := zapcore.ParseLevel(text)
	return level, err == nil
}

// level is that of the longest beginning of a name that has one.
func (l *loggers) level(name string) int32 {
	for {
		if level, ok := l.levels[name]; ok {
			return int32(level)
		}
		end := strings.LastIndexByte(name, '.')
		if end < 0 {
			return noLevel
		}
		name = name[:end]
	}
}

// A leveled core writes to another one, from a level of its own on if it has one, also
// what the other would leave out.
type leveled struct {
	zapcore.Core
	own *atomic.Int32
}

// Enabled is that of the core.
func (c leveled) Enabled(level zapcore.Level) bool {
	if own := c.own.Load(); own != noLevel {
		return level >= zapcore.Level(own)
	}
	return c.Core.Enabled(level)
}

// With is that of the core.
func (c leveled) With(fields []zapcore.Field) zapcore.Core {
	return leveled{c.Core.With(fields), c.own}
}

// Check is that of the core.
func (c leveled) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	own := c.own.Load()
	switch {
	case own == noLevel:
		return c.Core.Check(entry, checked)
	case entry.Level >= zapcore.Level(own):
		return checked.AddCore(entry, c.Core)
	default:
		return checked
	}
}

// Logger is the logger with a name such as core.rest, for what belongs to the scheduler and is
// not part of it. Its level is that of the key log.<logger>.level of the extra configuration, or
// of the longest beginning of the name for which there is one.
func (s *Scheduler) Logger(name string) *zap.Logger { return s.loggers.of(name) }
