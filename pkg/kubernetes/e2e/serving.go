package e2e

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/cluster"
)

// Served is a program that runs and serves pages.
type Served struct {
	*cluster.Process
	w   *World
	url string
}

// page reads what the program serves.
func (p *Served) page(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// Page is what the program serves at a path.
func (p *Served) Page(path string) string {
	p.w.t.Helper()
	text, err := p.page(p.w.ctx, path)
	p.w.check(err)
	return text
}

// Await waits until a page has a text. Pages cannot be watched, so they are asked for again.
func (p *Served) Await(path, text string) {
	p.w.t.Helper()
	p.w.Step("until %s has %q", path, text)
	ctx, cancel := context.WithTimeout(p.w.ctx, patience)
	defer cancel()
	ticker := time.NewTicker(booksEvery)
	defer ticker.Stop()
	for {
		page, err := p.page(ctx, path)
		if err == nil && strings.Contains(page, text) {
			return
		}
		select {
		case <-ticker.C:
		case <-p.Ended():
			p.w.t.Fatalf("the program has ended:\n%s", p.Log(logLines))
		case <-ctx.Done():
			p.w.t.Fatalf("%s has no %q after %v (%v):\n%s", path, text, patience, err, page)
		}
	}
}
