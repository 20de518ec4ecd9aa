// Package identity finds the groups of users, for applications that come without any.
//
// Read in this order:
//
//	resolver.go  Resolver, and those without a server: None and Test
//	system.go    System asks the operating system
//	cache.go     Cache remembers answers for a time
//
// Package identity/ldap asks an LDAP server. It is a module of its own, so that a program
// without it does not need the library.
package identity
