package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	startMax   = 90 * time.Second // a part may take this long to start, on a busy machine
	readyEvery = 50 * time.Millisecond
	logLines   = 30
)

// awaitReady asks an address until it answers 200. Nothing can be watched yet, so it is
// asked again and again.
func (c *Cluster) awaitReady(ctx context.Context, p *Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.Authority.Bundle())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(readyEvery)
	defer ticker.Stop()
	last := errors.New("nothing was asked")
	for {
		select {
		case <-p.Ended():
			return fmt.Errorf("%s has ended before it was ready, its log ends:\n%s", p.Name(), p.Log(logLines))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %v: %w; its log ends:\n%s", p.Name(), startMax, last, p.Log(logLines))
		case <-ticker.C:
		}
		if last = c.ask(ctx, client, url); last == nil {
			return nil
		}
	}
}

func (c *Cluster) ask(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1000)) // the status says enough without it
		return fmt.Errorf("%s answers %s: %s", url, response.Status, body)
	}
	return nil
}

// AwaitServiceAccount waits until a namespace has its default service account. Before, the
// API server refuses pods there.
func (c *Cluster) AwaitServiceAccount(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	watch, err := c.Client().CoreV1().ServiceAccounts(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=default"})
	if err != nil {
		return fmt.Errorf("service account of namespace %s: %w", namespace, err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if _, ok := event.Object.(*corev1.ServiceAccount); ok {
			return nil
		}
	}
	return fmt.Errorf("namespace %s has no default service account after %v: is %s there? Its log ends:\n%s",
		namespace, startMax, c.controllers.Name(), c.controllers.Log(logLines))
}

// FreePort is a port of the loopback address on which nothing listens now.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, fmt.Errorf("no free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
