// Package client asks a running scheduler over REST, and shows the answers as tables for
// the terminal.
//
//	client.go       a Client: addresses, tokens, errors
//	objects.go      what the answers are, as far as tables need it
//	amounts.go      amounts as people write them
//	layout.go       tables in the width and the colours of a terminal
//	tables.go       the tables
//	outcome.go      what would come of a question
//	queuestable.go  the table of queues
//
// Two commands are made of it: narwhal, which is told an address, and kubectl-narwhal,
// which goes through the API server.
package client
