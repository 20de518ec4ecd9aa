package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// readToken is the token of a file, without the white space around it; empty without a
// file.
func readToken(file string) (string, error) {
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

// networks reads addresses and networks; nil without any.
func networks(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, bad := netip.ParseAddr(text)
			if bad != nil {
				return nil, fmt.Errorf("trusted-proxy: %q is no address and no network", text)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		out = append(out, network)
	}
	return out, nil
}
