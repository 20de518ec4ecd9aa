package entrypoint

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/sasha-s/go-deadlock"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

func noEnvironment(string) string { return "" }

// get reads an answer over the network.
func get(t *testing.T, address, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	assert.NilError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	response, err := http.DefaultClient.Do(r)
	assert.NilError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	return response, string(body)
}

// TestREST: all is at one address, for every name and every page: a Service, probes, the
// state dump where it was before, and profiles.
func TestREST(t *testing.T) {
	c := start(settings{logger: zap.NewNop(), address: "127.0.0.1:0", getenv: noEnvironment})
	defer c.StopAll()
	address := c.services.server.Addresses()[0]
	for _, path := range []string{
		"/ws/v1/scheduler/healthcheck", "/ws/v1/metrics", "/ws/v1/fullstatedump", "/debug/fullstatedump", "/debug/stack", "/debug/pprof/", "/",
	} {
		response, _ := get(t, address, path, "Host", "yunikorn-service.yunikorn", "Origin", "https://pages.example.com")
		assert.Equal(t, response.StatusCode, http.StatusOK, path)
	}
	response, _ := get(t, address, "/ws/v1/partitions", "Origin", "https://pages.example.com")
	assert.Assert(t, response.Header.Get("Access-Control-Allow-Origin") != "")
}

// TestTakenPort: a second scheduler in the process runs without REST and says so, and both work.
func TestTakenPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer listener.Close()
	core, logs := observer.New(zap.InfoLevel)
	for range 2 {
		c := start(settings{logger: zap.New(core), address: listener.Addr().String(), getenv: noEnvironment})
		defer c.StopAll()
		_, err := c.RMProxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: rmID}, &shim{t: t, nodes: map[string]string{}})
		assert.NilError(t, err)
		assert.Assert(t, c.Scheduler.GetClusterContext().GetPartition("default") != nil)
	}
	assert.Equal(t, logs.FilterMessage("REST is not served").FilterLevelExact(zap.ErrorLevel).Len(), 2)
}

// TestStreamsEndFirst: a client that follows the events does not keep the scheduler from ending, and
// its stream ends as it should.
func TestStreamsEndFirst(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	c := start(settings{logger: zap.New(core), address: "127.0.0.1:0", getenv: noEnvironment})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.services.server.Addresses()[0]+"/ws/v1/events/stream", http.NoBody)
	assert.NilError(t, err)
	stream, err := http.DefaultClient.Do(r)
	assert.NilError(t, err)
	defer stream.Body.Close()
	assert.Equal(t, stream.StatusCode, http.StatusOK)
	c.StopAll()
	_, err = io.ReadAll(stream.Body)
	assert.NilError(t, err)
	assert.Equal(t, logs.FilterMessage("requests were cut").Len(), 0)
}

// TestStartAllServices: without a logger, with the configuration of one that has no level, and without REST.
func TestStartAllServices(t *testing.T) {
	silent := StartAllServicesWithParams(true, false)
	assert.Assert(t, silent.services.server == nil)
	for _, c := range []*ServiceContext{silent, StartAllServices(), StartAllServicesWithLogger(zap.NewNop(), &zap.Config{}), StartAllServicesWithLogger(nil, nil)} {
		defer c.StopAll()
		_, err := c.RMProxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{
			RmID: rmID, ExtraConfig: map[string]string{"log.level": "error"},
		}, &shim{t: t, nodes: map[string]string{}})
		assert.NilError(t, err)
	}
}

// TestSettings: REST is offered at every address, and the level is that of the program.
func TestSettings(t *testing.T) {
	config := zap.NewProductionConfig()
	with := settingsOf(zap.NewNop(), &config)
	assert.Equal(t, with.address, ":9080")
	assert.Equal(t, with.ldap, "/run/secrets/ldap")
	assert.Assert(t, with.level == &config.Level)
	assert.Assert(t, settingsOf(nil, &zap.Config{}).level == nil)
	t.Setenv(keyNoReservation, "true")
	assert.Equal(t, reserveDelay(with.getenv), time.Duration(-1))

	with.address = ":0"
	c := start(with)
	defer c.StopAll()
	address, err := netip.ParseAddrPort(c.services.server.Addresses()[0])
	assert.NilError(t, err)
	assert.Assert(t, address.Addr().IsUnspecified(), "%v", address)
}

// TestLocksOfAProgram: they are not checked, also if the program takes in this package alone.
func TestLocksOfAProgram(t *testing.T) { assert.Assert(t, deadlock.Opts.Disable) }

// TestCharts: what is used is kept, as the charts of the dashboard show it.
func TestCharts(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		s.addApplication("app-1", "")
		s.ask("app-1", "pod-1", 1)
		s.pass(time.Minute)
		var points []struct {
			Used map[string]int64 `json:"used"`
		}
		assert.Equal(t, s.read("/ws/v1/partition/default/history", &points), http.StatusOK)
		assert.Assert(t, len(points) >= 3, "%d", len(points))
		assert.Equal(t, points[len(points)-1].Used["vcore"], int64(1000))
	})
}

// TestNilRequests: they are errors, as everywhere.
func TestNilRequests(t *testing.T) {
	play(t, nil, func(t *testing.T, s *shim) {
		_, err := s.RMProxy.RegisterResourceManager(nil, s)
		assert.ErrorContains(t, err, "nil")
		assert.ErrorContains(t, s.RMProxy.UpdateConfiguration(nil), "nil")
	})
}

// TestWhatIsTold: REST shows the build of the resource manager and its state, and judges the
// empty configuration as registration does.
func TestWhatIsTold(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		var clusters []dao.ClusterDAOInfo
		assert.Equal(t, s.read("/ws/v1/clusters", &clusters), http.StatusOK)
		assert.DeepEqual(t, clusters[0].RMBuildInformation, []map[string]string{{"buildVersion": "v1", "rmId": rmID}})
		var health dao.SchedulerHealthDAOInfo
		assert.Equal(t, s.read("/ws/v1/scheduler/healthcheck", &health), http.StatusOK)
		assert.Assert(t, health.Healthy && len(health.HealthChecks) > 0)
		var dump dao.AggregatedStateInfo
		assert.Equal(t, s.read("/debug/fullstatedump", nil), http.StatusOK)
		assert.Equal(t, s.read("/debug/fullstatedump", &dump), http.StatusOK)
		assert.Equal(t, dump.RMDiagnostics["pods"], 1.0)
		assert.Equal(t, dump.LogLevel, "info")
		metrics := s.request("/ws/v1/metrics", "").Body.String()
		assert.Assert(t, strings.Contains(metrics, `yunikorn_scheduler_node{partition="[mycluster]default",state="active"} 1`), metrics)
	})
}

// TestValidation: a text is judged with the same defaults as one that is sent.
func TestValidation(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		for body, want := range map[string]bool{configs.DefaultSchedulerConfig: true, "partitions: []": false} {
			var said dao.ValidateConfResponse
			assert.NilError(t, json.Unmarshal(s.request("/ws/v1/validate-conf", body).Body.Bytes(), &said))
			assert.Equal(t, said.Allowed, want, "%s: %s", body, said.Reason)
		}
		before := configs.DefaultSchedulerConfig
		defer func() { configs.DefaultSchedulerConfig = before }()
		configs.DefaultSchedulerConfig = "partitions: []"
		assert.ErrorContains(t, s.services.manager.Validate(""), "no partition")
	})
}

// TestWhatIfOfAConfiguration: a text that is tried has the same defaults as one that is sent.
func TestWhatIfOfAConfiguration(t *testing.T) {
	run(t, twoQueues, func(t *testing.T, s *shim) {
		for list, rejected := range map[string]int{"submitacl: '*', ": 0, "": 1} {
			var outcome struct {
				Rejected []any `json:"rejected"`
			}
			answer := s.request("/ws/v1/partition/default/whatif", `{
				"config": "partitions: [{queues: [{name: root, `+list+`queues: [{name: low}, {name: high}]}]}]",
				"applications": [{"applicationId": "app-9", "queueName": "root.low", "user": "anna"}],
				"asks": [{"allocationKey": "pod-9", "applicationId": "app-9", "resource": {"vcore": 1000}}]
			}`).Body.Bytes()
			assert.NilError(t, json.Unmarshal(answer, &outcome), "%s", answer)
			assert.Equal(t, len(outcome.Rejected), rejected, "%s", answer)
		}
	})
}

// TestLogLevels: the level of all, and of one logger, as keys of the settings say.
func TestLogLevels(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		lines := func(text string) int { return s.logs.FilterMessage(text).Len() }
		assert.NilError(t, s.configure("", map[string]string{"log.core.scheduler.allocation.level": "DEBUG", "log.core.scheduler.application.level": "5"}))
		s.addApplication("app-1", "")
		s.ask("app-1", "pod-1", 1)
		assert.Equal(t, lines("allocation placed"), 1)
		assert.Equal(t, lines("application accepted"), 0)
		assert.Equal(t, lines("setting has no effect"), 0)
	})
}

// TestPagesOfEvents: an answer has as many as the settings say.
func TestPagesOfEvents(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		for i, text := range []string{"2", "3"} {
			assert.NilError(t, s.configure("", map[string]string{"event.RESTResponseSize": text}))
			var page dao.EventRecordDAO
			assert.Equal(t, s.read("/ws/v1/events/batch", &page), http.StatusOK)
			assert.Equal(t, len(page.EventRecords), 2+i)
		}
	})
}

// TestHealthIsChecked: at the start and then as often as the settings say, from the moment
// that they do.
func TestHealthIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.DebugLevel)
		var ill atomic.Bool
		var checks atomic.Int32
		h := newHealthWatch()
		h.start(func(context.Context) ([]string, error) {
			checks.Add(1)
			if ill.Load() {
				return nil, errors.New("ill")
			}
			return nil, nil
		}, zap.New(core))
		pass := func(d time.Duration) {
			time.Sleep(d) // of the bubble
			synctest.Wait()
		}
		pass(time.Second)
		assert.Equal(t, checks.Load(), int32(1))
		pass(time.Minute)
		assert.Equal(t, checks.Load(), int32(3))
		for _, c := range []struct {
			text string
			more int32
		}{{"10s", 6}, {"0s", 0}, {"-1s", 0}, {"20s", 3}, {"soon", 2}} {
			before := checks.Load()
			h.configure(map[string]string{keyHealth: c.text})
			pass(time.Minute)
			assert.Equal(t, checks.Load()-before, c.more, c.text)
		}
		assert.Equal(t, logs.FilterMessage("setting not understood").Len(), 1)
		assert.Equal(t, logs.FilterLevelExact(zap.DebugLevel).Len(), int(checks.Load()))
		ill.Store(true)
		pass(time.Minute)
		ill.Store(false)
		pass(time.Minute)
		var lines []string
		for _, entry := range logs.FilterLevelExact(zap.WarnLevel).All()[1:] {
			lines = append(lines, entry.Message)
		}
		assert.Equal(t, strings.Join(lines, ", "), "scheduler is not healthy, scheduler is not healthy")
		assert.Equal(t, logs.FilterMessage("scheduler is healthy again").Len(), 1)
		h.stop()
	})
}

// TestNewestSettingsOfHealth: of settings that were not read yet the last ones count.
func TestNewestSettingsOfHealth(t *testing.T) {
	h := newHealthWatch()
	for _, text := range []string{"1s", "2s", "3s"} {
		h.configure(map[string]string{keyHealth: text})
	}
	assert.Equal(t, (<-h.settings)[keyHealth], "3s")
	assert.Equal(t, len(h.settings), 0)
}

// TestHealthOfAScheduler: what a partition that does not answer does to the health is in the log,
// as often as the settings say.
func TestHealthOfAScheduler(t *testing.T) {
	run(t, "", func(t *testing.T, s *shim) {
		assert.NilError(t, s.configure("", map[string]string{keyHealth: "5s"}))
		s.addApplication("app-1", "")
		s.block = make(chan struct{})
		s.ask("app-1", "pod-1", 1)
		s.pass(12 * time.Second)
		ill := s.logs.FilterMessage("scheduler is not healthy")
		assert.Equal(t, ill.Len(), 2)
		assert.Assert(t, strings.Contains(ill.All()[0].ContextMap()["faults"].([]any)[0].(string), "has not answered"), "%v", ill.All()[0])
		close(s.block)
		s.pass(5 * time.Second)
		assert.Equal(t, s.logs.FilterMessage("scheduler is healthy again").Len(), 1)
	})
}
