// Package acceptance tests the web service from outside: that its answers, to whatever
// requests, are what the OpenAPI document says. Package browser below it tests the
// dashboard in a browser. The JSON schema of the configuration is tested here too.
//
// It is a module of its own, so that a program that imports the scheduler does not
// get the libraries for OpenAPI, JSON Schema and browsers in its module graph.
package acceptance
