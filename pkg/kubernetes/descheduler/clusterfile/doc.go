// Package clusterfile lets a dry run decide over a cluster that is in a file: the objects as
// kubectl prints them, or a few that were written by hand.
//
// Read in this order:
//
//	file.go    Read: the objects of a text, completed where things are left out
//	server.go  File as an API server that can only be read
package clusterfile
