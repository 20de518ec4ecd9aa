// Package ldaptest has an LDAP server for tests. It accepts every sign-in, or none, and answers
// searches with entries that it was given.
package ldaptest

import (
	"net"
	"slices"
	"sync"
	"testing"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
	"gotest.tools/v3/assert"
)

// A Server answers searches with entries, the filter being the key. Its fields must be set
// before Start.
type Server struct {
	Entries map[string][]map[string][]string // the attributes of each entry, by filter
	Silent  bool                             // takes connections and says nothing
	Refuse  bool                             // every sign-in

	at      net.Listener
	mu      sync.Mutex
	filters []string
	open    []net.Conn
}

// Start begins to answer at a port of this machine, until the test ends.
func (s *Server) Start(t *testing.T) (port int) {
	t.Helper()
	var err error
	s.at, err = net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	t.Cleanup(s.Stop)
	go func() {
		for {
			connection, err := s.at.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.open = append(s.open, connection)
			s.mu.Unlock()
			if !s.Silent {
				go s.talk(connection)
			}
		}
	}()
	return s.at.Addr().(*net.TCPAddr).Port
}

// Filters are those that were asked for, in order.
func (s *Server) Filters() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.filters)
}

// Stop ends all connections and takes no more.
func (s *Server) Stop() {
	_ = s.at.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, connection := range s.open {
		_ = connection.Close()
	}
}

// talk answers what comes over one connection.
func (s *Server) talk(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	for {
		request, err := ber.ReadPacket(connection)
		if err != nil || len(request.Children) < 2 {
			return
		}
		id, operation := request.Children[0].Value.(int64), request.Children[1]
		switch operation.Tag {
		case ldap.ApplicationBindRequest:
			code := ldap.LDAPResultSuccess
			if s.Refuse {
				code = ldap.LDAPResultInvalidCredentials
			}
			_, _ = connection.Write(done(id, ldap.ApplicationBindResponse, code))
		case ldap.ApplicationSearchRequest:
			filter, _ := ldap.DecompileFilter(operation.Children[6])
			s.mu.Lock()
			s.filters = append(s.filters, filter)
			s.mu.Unlock()
			for _, entry := range s.Entries[filter] {
				_, _ = connection.Write(found(id, entry))
			}
			_, _ = connection.Write(done(id, ldap.ApplicationSearchResultDone, ldap.LDAPResultSuccess))
		}
	}
}

func envelope(id int64, operation *ber.Packet) []byte {
	p := ber.NewSequence("")
	p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, id, ""))
	p.AppendChild(operation)
	return p.Bytes()
}

func text(s string) *ber.Packet {
	return ber.NewString(ber.ClassUniversal, ber.TypePrimitive, ber.TagOctetString, s, "")
}

// done is the last answer to a request.
func done(id int64, tag ber.Tag, code int) []byte {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, tag, nil, "")
	p.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagEnumerated, int64(code), ""))
	p.AppendChild(text(""))
	p.AppendChild(text(""))
	return envelope(id, p)
}

// found is one entry of an answer.
func found(id int64, attributes map[string][]string) []byte {
	p := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchResultEntry, nil, "")
	p.AppendChild(text("uid=user,dc=example,dc=com"))
	list := ber.NewSequence("")
	for name, values := range attributes {
		one := ber.NewSequence("")
		one.AppendChild(text(name))
		set := ber.Encode(ber.ClassUniversal, ber.TypeConstructed, ber.TagSet, nil, "")
		for _, value := range values {
			set.AppendChild(text(value))
		}
		one.AppendChild(set)
		list.AppendChild(one)
	}
	p.AppendChild(list)
	return envelope(id, p)
}
