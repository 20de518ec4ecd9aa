package ldap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"
)

// answerMax is the most entries of an answer that are read. One is right, and two are
// enough to know that the filter is wrong.
const answerMax = 2

// A Resolver asks a server. Each question has a connection of its own, so that a server that
// starts again needs no care. It may be used by several goroutines.
type Resolver struct {
	config Config
}

// New makes a resolver. It does not connect.
func New(config Config) (*Resolver, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Resolver{config.withDefaults()}, nil
}

// Groups are a group with the name of the user, and those that the server names. It returns
// when the context ends, or after Config.Timeout.
func (r *Resolver) Groups(ctx context.Context, user string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	values, err := r.search(ctx, user)
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer in time: %w", ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("LDAP server %s: user %q: %w", r.config.Host, user, err)
	}
	groups := []string{user}
	known := map[string]bool{user: true, "": true}
	for _, value := range values {
		if group := groupOf(value); !known[group] {
			known[group] = true
			groups = append(groups, group)
		}
	}
	return groups, nil
}

// search returns the values of the attribute with groups.
func (r *Resolver) search(ctx context.Context, user string) ([]string, error) {
	connection, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	// What waits for the server ends with its connection.
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	if r.config.StartTLS {
		if err := connection.StartTLS(r.config.tlsConfig()); err != nil {
			return nil, err
		}
	}
	if err := connection.Bind(r.config.BindUser, r.config.BindPassword); err != nil {
		return nil, err
	}
	filter := strings.ReplaceAll(r.config.Filter, "%s", ldap.EscapeFilter(user))
	result, err := connection.Search(ldap.NewSearchRequest(
		r.config.BaseDN, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, answerMax, int(r.config.Timeout/time.Second), false,
		filter, []string{r.config.GroupAttribute}, nil,
	))
	switch {
	case ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded):
		return nil, errors.New("the filter finds more than one entry")
	case err != nil:
		return nil, err
	case len(result.Entries) == 0:
		return nil, errors.New("there is no such entry")
	case len(result.Entries) > 1:
		return nil, errors.New("the filter finds more than one entry")
	}
	return result.Entries[0].GetEqualFoldAttributeValues(r.config.GroupAttribute), nil
}

// connect opens a connection, before the context ends.
func (r *Resolver) connect(ctx context.Context) (*ldap.Conn, error) {
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(r.config.Host, strconv.Itoa(r.config.Port)))
	if err != nil {
		return nil, err
	}
	if r.config.SSL {
		raw, err = handshake(ctx, raw, r.config)
		if err != nil {
			return nil, err
		}
	}
	connection := ldap.NewConn(raw, r.config.SSL)
	connection.Start()
	return connection, nil
}

// groupOf is the group that a value names: the value of the first part of a distinguished
// name, whatever the case and the name of its attribute, or else all of it.
func groupOf(value string) string {
	dn, err := ldap.ParseDN(value)
	if err != nil || len(dn.RDNs) == 0 || len(dn.RDNs[0].Attributes) == 0 {
		return strings.TrimSpace(value)
	}
	return dn.RDNs[0].Attributes[0].Value
}
