package ldap

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What holds where nothing is configured.
const (
	DefaultGroupAttribute = "memberOf"
	DefaultTimeout        = 5 * time.Second
)

// settingMax is the most bytes of one file of settings.
const settingMax = 1 << 20

// Config says which server is asked, and how.
type Config struct {
	Host string
	Port int
	// BaseDN is where the search begins; the whole tree below is searched.
	BaseDN string
	// Filter finds the entry of a user, whose name takes the place of each %s. The name is
	// escaped.
	Filter string
	// GroupAttribute holds the groups of a user in its entry; empty is memberOf. Of a value that is
	// a distinguished name the first part counts, otherwise all of it.
	GroupAttribute string
	// BindUser and BindPassword are what it signs in with.
	BindUser, BindPassword string
	// SSL speaks TLS from the beginning, StartTLS after a request in plain text.
	SSL, StartTLS bool
	// Insecure trusts any certificate.
	Insecure bool
	// RootCAs may sign the certificate of the server; nil are those of the machine.
	RootCAs *x509.CertPool
	// Timeout is how long one look-up may take, with the connection; zero means 5 s.
	Timeout time.Duration
}

// Validate reports every problem of the configuration at once.
func (c Config) Validate() error {
	var problems []error
	for _, needed := range []struct{ name, value string }{
		{"Host", c.Host}, {"BaseDN", c.BaseDN}, {"BindUser", c.BindUser}, {"BindPassword", c.BindPassword},
	} {
		if needed.value == "" {
			problems = append(problems, fmt.Errorf("ldap config: %s is missing", needed.name))
		}
	}
	if c.Port < 1 || c.Port > 65535 {
		problems = append(problems, fmt.Errorf("ldap config: Port %d is not between 1 and 65535", c.Port))
	}
	if !strings.Contains(c.Filter, "%s") {
		problems = append(problems, fmt.Errorf("ldap config: Filter %q does not contain %%s, the place of the user", c.Filter))
	}
	if c.SSL && c.StartTLS {
		problems = append(problems, errors.New("ldap config: SSL and StartTLS exclude each other"))
	}
	if c.Timeout < 0 {
		problems = append(problems, errors.New("ldap config: Timeout is negative"))
	}
	return errors.Join(problems...)
}

func (c Config) withDefaults() Config {
	if c.GroupAttribute == "" {
		c.GroupAttribute = DefaultGroupAttribute
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	return c
}

// tlsConfig is how TLS is spoken.
func (c Config) tlsConfig() *tls.Config {
	return &tls.Config{
		ServerName: c.Host, RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: c.Insecure, //nolint:gosec // it is configured
	}
}

// ReadDirectory reads a configuration from a directory with one file for each setting, as a
// mounted secret has: Host, Port, BaseDN, Filter, GroupAttr, BindUser, BindPassword, SSL,
// StartTLS, Insecure, CACert (certificates in PEM) and Timeout. Directories and names that
// begin with two dots are skipped. ReturnAttr, which other schedulers read, is too: the
// attribute that is returned is GroupAttr. Any other name is an error.
func ReadDirectory(path string) (Config, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return Config{}, fmt.Errorf("ldap config: %w", err)
	}
	var c Config
	var problems []error
	for _, entry := range entries {
		name := entry.Name()
		info, err := os.Stat(filepath.Join(path, name))
		if strings.HasPrefix(name, "..") || err == nil && info.IsDir() {
			continue
		}
		if err == nil {
			err = c.readFile(filepath.Join(path, name), name)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("ldap config: %s: %w", name, err))
		}
	}
	if len(problems) == 0 {
		problems = append(problems, c.Validate())
	}
	return c, errors.Join(problems...)
}

// readFile reads one setting.
func (c *Config) readFile(path, name string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > settingMax {
		return fmt.Errorf("is longer than %d bytes", settingMax)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return c.set(name, strings.TrimRight(string(text), "\r\n"))
}

// set sets one setting.
func (c *Config) set(name, value string) (err error) {
	texts := map[string]*string{
		"Host": &c.Host, "BaseDN": &c.BaseDN, "Filter": &c.Filter, "GroupAttr": &c.GroupAttribute,
		"BindUser": &c.BindUser, "BindPassword": &c.BindPassword,
	}
	flags := map[string]*bool{"SSL": &c.SSL, "StartTLS": &c.StartTLS, "Insecure": &c.Insecure}
	switch {
	case texts[name] != nil:
		*texts[name] = value
	case flags[name] != nil:
		*flags[name], err = strconv.ParseBool(value)
	case name == "Port":
		c.Port, err = strconv.Atoi(value)
	case name == "Timeout":
		c.Timeout, err = time.ParseDuration(value)
	case name == "CACert":
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(value)) {
			err = errors.New("holds no certificate in PEM")
		}
	case name == "ReturnAttr":
	default:
		err = errors.New("is no setting")
	}
	return err
}
