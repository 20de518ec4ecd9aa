package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// answerTimeout is how long one question to a scheduler may take.
const answerTimeout = 30 * time.Second

// A connection says which scheduler is asked, and how.
type connection struct {
	server, partition string
	token, tokenFile  string
	caFile            string // certificates that are trusted beside those of the system
}

// addTo adds the flags.
func (c *connection) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.server, "server", webservice.DefaultAddress, "address of the scheduler: HOST, HOST:PORT, or https://HOST:PORT")
	flags.StringVar(&c.partition, "partition", "default", "partition that is asked about")
	flags.StringVar(&c.token, "token", "", "bearer token, if the scheduler needs one; others on the machine can see it")
	flags.StringVar(&c.tokenFile, "token-file", "", "file with the bearer token")
	flags.StringVar(&c.caFile, "ca-file", "", "file with certificates to trust, in PEM (default those of the system)")
	cmd.MarkFlagsMutuallyExclusive("token", "token-file")
}

// client is made once for each command.
func (c *connection) client() (*client.Client, error) {
	token := c.token
	if c.tokenFile != "" {
		var err error
		if token, err = webservice.ReadToken(c.tokenFile); err != nil {
			return nil, &usageError{err}
		}
	}
	by, err := c.transport()
	return &client.Client{HTTP: by, Server: c.server, Token: token, Partition: c.partition}, err
}

func (c *connection) transport() (*http.Client, error) {
	if c.caFile == "" {
		return http.DefaultClient, nil
	}
	text, err := os.ReadFile(c.caFile)
	if err != nil {
		return nil, &usageError{err}
	}
	trusted, err := x509.SystemCertPool()
	if err != nil {
		trusted = x509.NewCertPool()
	}
	if !trusted.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", c.caFile)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}}, nil
}

// within is a context for one question.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, answerTimeout)
}

// reached says what to do about a scheduler that does not answer.
func (c *connection) reached(err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return err
	}
	return fmt.Errorf("no scheduler answers at %s: %w (--server says where it is)", client.Address(c.server), failed.Err)
}
