package ldap

import (
	"context"
	"crypto/tls"
	"net"
)

// handshake begins TLS on a connection, which it closes if that fails.
func handshake(ctx context.Context, raw net.Conn, c Config) (net.Conn, error) {
	secure := tls.Client(raw, c.tlsConfig())
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return secure, nil
}
