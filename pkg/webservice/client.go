package webservice

import (
	"net/http"
	"net/netip"
	"strings"
)

// thisMachine is the addresses of the machine itself. What comes from one of them may
// come from any of them, so counting them apart would bound nothing.
var thisMachine = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// clientOf is the address that a request comes from, so that clients can be counted. A
// proxy that is trusted says for which client it asks, and so may the one before it; what any
// other client says of itself counts for nothing.
func (c *Config) clientOf(r *http.Request) string {
	client, err := addressOf(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	said := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for len(said) > 0 && c.trusts(client) {
		last := len(said) - 1
		before, err := addressOf(strings.TrimSpace(said[last]))
		if err != nil {
			break
		}
		client, said = before, said[:last]
	}
	return client.String()
}

// trusts reports whether a proxy at an address says the truth about its clients.
func (c *Config) trusts(proxy netip.Addr) bool {
	trusted := c.TrustedProxies
	if trusted == nil {
		trusted = thisMachine
	}
	for _, prefix := range trusted {
		if prefix.Contains(proxy) {
			return true
		}
	}
	return false
}

// addressOf reads an address with or without a port.
func addressOf(text string) (netip.Addr, error) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap().WithZone(""), nil
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return address.Unmap().WithZone(""), err
}
