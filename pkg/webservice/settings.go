package webservice

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// ReadToken is the token of a file for ServerConfig.Token, without the white space around
// it; empty without a file. A file without a token is an error.
func ReadToken(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("token: %s is empty", file)
	}
	return token, nil
}

// ReadNetworks reads addresses and networks for Config.TrustedProxies; nil without any. The
// error names all that are neither.
func ReadNetworks(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	var problems []error
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if address, bad := netip.ParseAddr(text); bad == nil {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("trusted-proxy: %q is no address and no network", text))
		}
		all = append(all, network)
	}
	return all, errors.Join(problems...)
}
