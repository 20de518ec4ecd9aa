package entrypoint

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/identity/ldap/ldaptest"
)

const fromLDAP = `partitions:
  - name: default
    usergroupresolver: {type: ldap}
    queues:
      - name: root
        queues:
          - name: a
            submitacl: ' ops'
`

// TestGroupsFromLDAP: the server is the one that the files in the directory name, at the moment
// of the look-up. Without them an application must bring its groups.
func TestGroupsFromLDAP(t *testing.T) {
	server := &ldaptest.Server{Entries: map[string][]map[string][]string{"(uid=anna)": {{"memberOf": {"CN=ops,DC=example,DC=com"}}}}}
	port := server.Start(t)
	path := t.TempDir()
	play(t, func(with *settings) { with.ldap = path }, func(t *testing.T, s *shim) {
		s.register(fromLDAP, nil)
		withoutGroups := func(a *si.AddApplicationRequest) { a.Ugi.Groups = nil }
		s.addApplication("app-1", "root.a", withoutGroups)
		s.says("application app-1 rejected: the groups of user anna are not known: ldap config: Host is missing")
		s.addApplication("app-2", "root.a", func(a *si.AddApplicationRequest) { a.Ugi.Groups = []string{"ops"} })
		s.says("application app-2 accepted")

		for name, text := range map[string]string{
			"Host": "127.0.0.1", "Port": strconv.Itoa(port), "BaseDN": "dc=example,dc=com", "Filter": "(uid=%s)",
			"BindUser": "cn=reader", "BindPassword": "secret", "ReturnAttr": "memberOf",
		} {
			assert.NilError(t, os.WriteFile(filepath.Join(path, name), []byte(text), 0o600))
		}
		s.pass(time.Hour) // so that the failure is forgotten
		s.addApplication("app-3", "root.a", withoutGroups)
		s.says("application app-3 accepted")
		s.addApplication("app-4", "root.a", withoutGroups, func(a *si.AddApplicationRequest) { a.Ugi.User = "berta" })
		s.says("application app-4 rejected")
		assert.DeepEqual(t, server.Filters(), []string{"(uid=anna)", "(uid=berta)"})
		assert.NilError(t, os.Remove(filepath.Join(path, "Host")))
		_, err := directory(path).Groups(t.Context(), "anna")
		assert.ErrorContains(t, err, "Host is missing")
	})
	_, err := directory(filepath.Join(path, "nowhere")).Groups(t.Context(), "anna")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
