package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"gotest.tools/v3/assert"
)

// patience is how long a test waits for what the page should show. It is long,
// since it only matters to tests that fail.
const patience = 40 * time.Second

// executables are the names under which a browser may be found, the best first: one without
// windows needs half of the processor time. The Makefile looks for the same.
var executables = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// shared is the browser of all tests of this package.
var shared struct {
	once   sync.Once
	ctx    context.Context
	stop   func()
	absent string // why there is none
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// theBrowser is running; a test is skipped if none is installed.
func theBrowser(t *testing.T) context.Context {
	t.Helper()
	shared.once.Do(startBrowser)
	if shared.absent != "" {
		t.Skip(shared.absent)
	}
	assert.NilError(t, shared.err)
	return shared.ctx
}

func startBrowser() {
	path := ""
	for _, name := range executables {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		shared.absent = fmt.Sprintf("the dashboard was NOT tested: no browser (%s) is in PATH; install the package chromium-headless-shell or chromium", strings.Join(executables, ", "))
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Flag("lang", "en-GB"),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("js-flags", "--expose-gc"), // for the test of memory
		chromedp.WSURLReadTimeout(time.Minute),
	)
	if runtime.GOOS == "linux" && os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // a browser of root has none
	}
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	shared.ctx, shared.stop = ctx, func() {
		_ = chromedp.Cancel(ctx) // nothing is left to hear of it
		cancel()
		cancelAllocator()
	}
	if err := chromedp.Do(ctx); err != nil {
		shared.err = fmt.Errorf("%s does not start: %w", path, err)
	}
}
