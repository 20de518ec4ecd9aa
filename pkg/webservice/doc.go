// Package webservice answers questions about partitions over HTTP: the REST
// interface that clients of YuniKorn know, over immutable views.
//
// A request goes one way:
//
//	route ─► guard ─► handler ─► value ─► JSON ─► hash, gzip ─► client
//	                     │
//	                     └── a snapshot: a view of the partition, from Views
//
// A handler is a function from the request to a value, or an error; it takes no
// lock and sees nothing half done. Lists are made element by element while they are
// written, so that a large answer takes as much memory as its compressed size.
//
// What has been is in the archive, which is read after the view: the view decides what
// is, the archive adds how it came to be. What is in neither comes through further
// interfaces of Config, each of which may be left out; what would need it answers
// with its empty form, or 404.
//
// The packages below this one, none of which imports it or one that stands above:
//
//	explanation    why an ask waits, and what would be if
//	past           what partitions have been: preemption plans, their victims, queues over time
//	object         the objects of a partition as they are: queues, nodes, applications, asks, users
//	query          what a query asks of an answer: fields, filters, pages, the order
//	configuration  the configuration as it is answered, in JSON and YAML
//	encoder        values to JSON
//	failure        what can be wrong with a request, and the statuses
//
// Read in this order:
//
//	service.go     Config, Service, the table of routes
//	router.go      paths, methods, redirects; body.go, bodies of requests
//	answer.go      a value or an error becomes an answer, which several requests may
//	               share
//	views.go       the reader: the views that an answer is made from, and how old they
//	               are; scope.go, the queues to which they are narrowed for some clients
//	events.go, configuration.go, whatif.go
//	               answers about no object of a partition
//	health.go      what is checked
//	openapi.go     the description of all this, for programs
//	reply.go       an answer that is made: its body, compression, tag
//	server.go      addresses, TLS, stop; certificate.go and token.go, a certificate and a token that are renewed; guard.go, origins, names and the token; client.go,
//	               which client asks; settings.go, tokens and networks as texts; debug.go, profiles
//	               and stacks
package webservice
