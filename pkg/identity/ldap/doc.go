// Package ldap asks an LDAP server for the groups of users.
//
// It is a module of its own, so that a program without it does not need the library. A
// Resolver is a Resolver of package identity, which it does not import.
//
// Read in this order:
//
//	config.go    Config, and ReadDirectory, which reads it from files
//	resolver.go  Resolver; handshake.go, TLS
//	ldaptest     a server for tests
package ldap
