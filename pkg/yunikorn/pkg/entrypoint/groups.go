package entrypoint

import (
	"context"

	"github.com/narwhal-scheduler/narwhal/pkg/identity/ldap"
)

// A directory holds the settings of an LDAP server, one in each file. They are read with each
// look-up: most programs have none, and a secret that changes is in use at once.
type directory string

// Groups are those that the server names.
func (d directory) Groups(ctx context.Context, user string) ([]string, error) {
	config, err := ldap.ReadDirectory(string(d))
	if err != nil {
		return nil, err
	}
	resolver, err := ldap.New(config)
	if err != nil {
		return nil, err
	}
	return resolver.Groups(ctx, user)
}
