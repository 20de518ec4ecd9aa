package replica

import (
	"bytes"
	"encoding/json"
	"errors"
	stdlog "log"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/klog/v2"
)

// What libraries say is in the log like everything else: in its format, and not below its level.
func TestLibrariesLogLikeTheProgram(t *testing.T) {
	flags, prefix, writer := stdlog.Flags(), stdlog.Prefix(), stdlog.Writer()
	t.Cleanup(func() {
		klog.ClearLogger()
		stdlog.SetFlags(flags)
		stdlog.SetPrefix(prefix)
		stdlog.SetOutput(writer)
	})
	var out bytes.Buffer
	level, log, err := Logger("info", "json", &out)
	assert.NilError(t, err)
	Redirect(log)
	klog.ErrorS(errors.New("connection refused"), "Failed to watch", "type", "Pod")
	klog.Warningf("watch of %s ended", "Node")
	klog.Background().WithName("reflector").Info("Listing and watching")
	klog.V(9).InfoS("details")
	klog.Background().V(1).Info("more")
	stdlog.Print("http: panic serving")
	level.SetLevel(level.Level() + 1)
	klog.InfoS("below the level")

	var told []string
	for line := range strings.Lines(out.String()) {
		var entry struct{ Level, Logger, Msg, Error string }
		assert.NilError(t, json.Unmarshal([]byte(line), &entry), line)
		assert.Equal(t, strings.Count(line, `"logger"`), 1, line)
		told = append(told, strings.Join([]string{entry.Level, entry.Logger, entry.Msg, entry.Error}, ","))
	}
	assert.DeepEqual(t, told, []string{
		"error,kubernetes,Failed to watch,connection refused", "info,kubernetes,watch of Node ended,",
		"info,kubernetes.reflector,Listing and watching,", "info,go,http: panic serving,",
	})
}
