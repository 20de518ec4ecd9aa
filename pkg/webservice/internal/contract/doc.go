// Package contract reads the OpenAPI document of the web service, for tests that hold
// answers and types against it. It knows no schemas: the library that does is handed
// in, since only the module of the acceptance tests requires it.
//
// Read in this order:
//
//	document.go   operations, parameters, references
//	check.go      an answer against the document
//	fields.go     its schemas against Go types
//	examples.go   requests made of its examples, and sent
package contract
