package ldap_test

import (
	"context"
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/identity/ldap"
)

// A program that embeds the scheduler makes a Resolver and hands it over as scheduler.Config.Resolver.
// It is asked in partitions whose usergroupresolver.type is ldap.
func Example() {
	resolver, err := ldap.New(ldap.Config{
		Host: "ldap.example.com", Port: 636, SSL: true,
		BaseDN: "ou=people,dc=example,dc=com", Filter: "(uid=%s)",
		BindUser: "cn=scheduler,dc=example,dc=com", BindPassword: "secret",
		Timeout: 2 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The type of the field; this module does not import the scheduler.
	var config struct {
		Resolver interface {
			Groups(ctx context.Context, user string) ([]string, error)
		}
	}
	config.Resolver = resolver
	fmt.Printf("%T\n", config.Resolver)
	// Output: *ldap.Resolver
}
