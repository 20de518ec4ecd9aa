package policy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Settings are those of the process. Nil and empty: the file does not say.
type Settings struct {
	Interval          *time.Duration  `json:"deschedulingInterval"`
	DryRun            *bool           `json:"dryRun"`
	LeaderElection    *LeaderElection `json:"leaderElection"`
	ClientConnection  *Client         `json:"clientConnection"`
	HealthAddress     *string         `json:"healthzBindAddress"`
	MetricsAddress    *string         `json:"metricsBindAddress"`
	Profiling         *bool           `json:"enableProfiling"`
	BlockingProfiling *bool           `json:"enableContentionProfiling"`
}

// LeaderElection is how one of several replicas is chosen.
type LeaderElection struct {
	LeaderElect       *bool          `json:"leaderElect"`
	LeaseDuration     *time.Duration `json:"leaseDuration"`
	RenewDeadline     *time.Duration `json:"renewDeadline"`
	RetryPeriod       *time.Duration `json:"retryPeriod"`
	ResourceLock      *string        `json:"resourceLock"`
	ResourceName      *string        `json:"resourceName"`
	ResourceNamespace *string        `json:"resourceNamespace"`
}

// Client is how the API server is reached.
type Client struct {
	Kubeconfig         *string  `json:"kubeconfig"`
	AcceptContentTypes *string  `json:"acceptContentTypes"`
	ContentType        *string  `json:"contentType"`
	QPS                *float32 `json:"qps"`
	Burst              *int     `json:"burst"`
}

// Lock is the only kind of lock there is.
const Lock = "leases"

// fields says which keys the settings of the process have.
func (s *Settings) fields() []field {
	checks := map[string]func(cursor){
		"deschedulingInterval": func(c cursor) { c.span() },
		"leaderElection":       func(c cursor) { s.LeaderElection.check(c) },
		"clientConnection":     func(c cursor) { s.ClientConnection.check(c) },
		"healthzBindAddress":   func(c cursor) { c.address(*s.HealthAddress) },
		"metricsBindAddress":   func(c cursor) { c.address(*s.MetricsAddress) },
	}
	var known []field
	for _, m := range membersOf(valueOf(s)) {
		known = append(known, field{m.key, func(c cursor) {
			before := len(c.read.problems)
			c.decode(m.value)
			if check := checks[m.key]; check != nil && len(c.read.problems) == before {
				check(c)
			}
		}})
	}
	return known
}

// address reports what is no address to listen at.
func (c cursor) address(text string) {
	if _, _, err := SplitAddress(text); err != nil {
		c.fail("%s", err)
	}
}

// SplitAddress reads where to listen, such as 0.0.0.0:10258 or :10258; nothing and 0 are port 0, which
// is nowhere.
func SplitAddress(text string) (host string, port int, err error) {
	if text == "" || text == "0" {
		return "", 0, nil
	}
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, fmt.Errorf("must be an address with a port such as 127.0.0.1:10258, or 0 for nowhere, not %q", text)
	}
	if !isPort(number) {
		return "", 0, fmt.Errorf("must have a port from 0 to 65535, not %q", number)
	}
	if !IsHost(host) {
		return "", 0, fmt.Errorf("must begin with an IP address or the name of a host, not %q", host)
	}
	port, err = strconv.Atoi(number)
	return host, port, err
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && n <= 65535
}

// IsHost says whether a text is an IP address, the name of a host or nothing, which is all addresses.
func IsHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return text == "" || err == nil || len(validation.IsDNS1123Subdomain(text)) == 0
}

// check reports times of leader election that cannot work with each other. Where the text says that
// there is none they do not matter.
func (e *LeaderElection) check(c cursor) {
	if e.LeaderElect != nil && !*e.LeaderElect {
		return
	}
	if e.ResourceLock != nil && *e.ResourceLock != Lock {
		at, _ := c.follow("resourceLock")
		at.fail("must be %s, the only lock there is, not %s", Lock, at.shown())
	}
	for _, err := range split(CheckTimes(e.LeaseDuration, e.RenewDeadline, e.RetryPeriod)) {
		at, rest := c.under(err)
		at.fail("%s", rest)
	}
}

// jitter is by how much a pause between attempts may be longer than what is asked for.
const jitter = 1.2

// CheckTimes returns what is wrong with the times of leader election; nil is one that is not known.
func CheckTimes(lease, renew, retry *time.Duration) error {
	var errs []error
	for _, one := range []struct {
		key   string
		value *time.Duration
		least time.Duration
	}{{"leaseDuration", lease, time.Second}, {"renewDeadline", renew, time.Millisecond}, {"retryPeriod", retry, time.Millisecond}} {
		if one.value != nil && *one.value < one.least {
			errs = append(errs, fmt.Errorf("%s: must be at least %s, not %s", one.key, one.least, *one.value))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if lease != nil && renew != nil && *lease <= *renew {
		errs = append(errs, fmt.Errorf("leaseDuration: must be longer than renewDeadline (%s), not %s", *renew, *lease))
	}
	if renew != nil && retry != nil && float64(*renew) <= jitter*float64(*retry) {
		errs = append(errs, fmt.Errorf("renewDeadline: must be longer than %g times retryPeriod (%s), not %s", jitter, *retry, *renew))
	}
	return errors.Join(errs...)
}

// check reports what no client can work with.
func (k *Client) check(c cursor) {
	if k.Burst != nil && *k.Burst < 0 {
		at, _ := c.follow("burst")
		at.fail("must be at least 0, not %d", *k.Burst)
	}
}
