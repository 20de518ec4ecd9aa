package ldap

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/identity/ldap/ldaptest"
)

// started is a server that answers, and how it is reached.
func started(t *testing.T, s *ldaptest.Server) Config {
	t.Helper()
	return Config{
		Host: "127.0.0.1", Port: s.Start(t), BaseDN: "dc=example,dc=com",
		Filter: "(uid=%s)", BindUser: "cn=reader", BindPassword: "secret",
	}
}

func resolver(t *testing.T, c Config) *Resolver {
	t.Helper()
	r, err := New(c)
	assert.NilError(t, err)
	return r
}

func TestGroupsOfAUser(t *testing.T) {
	s := &ldaptest.Server{Entries: map[string][]map[string][]string{
		"(uid=ann)": {{"memberof": {
			"CN=Dev,OU=Groups,DC=example,DC=com", "cn=ops,dc=example,dc=com", "ou=people,dc=example,dc=com", "plain", "cn=a\\,b,dc=x", "cn=ops,dc=other", "",
		}}},
		"(uid=bob)": {{"mail": {"bob@example.com"}}},
		"(uid=two)": {{}, {}}, "(uid=many)": make([]map[string][]string, 10*answerMax),
	}}
	r := resolver(t, started(t, s))
	groups, err := r.Groups(t.Context(), "ann")
	assert.NilError(t, err)
	assert.DeepEqual(t, groups, []string{"ann", "Dev", "ops", "people", "plain", "a,b"})
	groups, err = r.Groups(t.Context(), "bob")
	assert.NilError(t, err)
	assert.DeepEqual(t, groups, []string{"bob"})
	_, err = r.Groups(t.Context(), "nobody")
	assert.ErrorContains(t, err, `user "nobody": there is no such entry`)
	for _, user := range []string{"two", "many"} {
		_, err = r.Groups(t.Context(), user)
		assert.ErrorContains(t, err, "more than one entry")
	}
}

// A name cannot change the filter.
func TestTheNameIsEscaped(t *testing.T) {
	s := &ldaptest.Server{}
	c := started(t, s)
	c.Filter = "(|(uid=%s)(mail=%s))"
	_, err := resolver(t, c).Groups(t.Context(), "*)(uid=root\x00")
	assert.ErrorContains(t, err, "no such entry")
	assert.DeepEqual(t, s.Filters(), []string{`(|(uid=\2a\29\28uid=root\00)(mail=\2a\29\28uid=root\00))`})
}

func TestTheAttributeIsConfigured(t *testing.T) {
	s := &ldaptest.Server{Entries: map[string][]map[string][]string{
		"(uid=ann)": {{"memberOf": {"cn=wrong"}, "teams": {"CN=right,dc=x"}}},
	}}
	c := started(t, s)
	c.GroupAttribute = "Teams"
	groups, err := resolver(t, c).Groups(t.Context(), "ann")
	assert.NilError(t, err)
	assert.DeepEqual(t, groups, []string{"ann", "right"})
}

// A server that says nothing costs the time-out, or what the context leaves.
func TestASilentServer(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"plain":    func(*Config) {},
		"SSL":      func(c *Config) { c.SSL = true },
		"StartTLS": func(c *Config) { c.StartTLS = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := &ldaptest.Server{Silent: true}
			c := started(t, s)
			change(&c)
			c.Timeout = 50 * time.Millisecond
			_, err := resolver(t, c).Groups(t.Context(), "ann")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			c.Timeout = time.Hour
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err = resolver(t, c).Groups(ctx, "ann")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

func TestFailures(t *testing.T) {
	s := &ldaptest.Server{Refuse: true}
	c := started(t, s)
	_, err := resolver(t, c).Groups(t.Context(), "ann")
	assert.ErrorContains(t, err, "Invalid Credentials")
	s.Stop()
	_, err = resolver(t, c).Groups(t.Context(), "ann")
	assert.ErrorContains(t, err, "refused")
}

func TestReadDirectory(t *testing.T) {
	path := t.TempDir()
	put := func(name, text string) {
		assert.NilError(t, os.WriteFile(filepath.Join(path, name), []byte(text), 0o600))
	}
	assert.NilError(t, os.Mkdir(filepath.Join(path, "..data"), 0o700))
	for name, text := range map[string]string{
		"Host": "ldap.example.com\n", "Port": "636", "BaseDN": "dc=example,dc=com", "Filter": "(uid=%s)", "GroupAttr": "teams",
		"ReturnAttr": "memberOf", "BindUser": "cn=reader", "BindPassword": " secret ", "SSL": "true", "Insecure": "true", "Timeout": "2s", "..x": "",
	} {
		put(name, text)
	}
	c, err := ReadDirectory(path)
	assert.NilError(t, err)
	assert.DeepEqual(t, c, Config{
		Host: "ldap.example.com", Port: 636, BaseDN: "dc=example,dc=com", Filter: "(uid=%s)", GroupAttribute: "teams",
		BindUser: "cn=reader", BindPassword: " secret ", SSL: true, Insecure: true, Timeout: 2 * time.Second,
	})
	put("Port", "many")
	put("Colour", "blue")
	put("CACert", "nonsense")
	put("BindPassword", strings.Repeat("x", 10*settingMax))
	_, err = ReadDirectory(path)
	for _, part := range []string{"Port: ", "Colour: is no setting", "CACert: holds no certificate", "BindPassword: is longer than 1048576 bytes"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = ReadDirectory(filepath.Join(path, "nowhere"))
	assert.Assert(t, errors.Is(err, os.ErrNotExist))
}

// What is wrong is told in one order.
func TestValidate(t *testing.T) {
	err := Config{Filter: "(uid=ann)", SSL: true, StartTLS: true, Timeout: -1}.Validate()
	assert.Error(t, err, `ldap config: Host is missing
ldap config: BaseDN is missing
ldap config: BindUser is missing
ldap config: BindPassword is missing
ldap config: Port 0 is not between 1 and 65535
ldap config: Filter "(uid=ann)" does not contain %s, the place of the user
ldap config: SSL and StartTLS exclude each other
ldap config: Timeout is negative`)
	_, err = New(Config{})
	assert.Assert(t, err != nil)
}
