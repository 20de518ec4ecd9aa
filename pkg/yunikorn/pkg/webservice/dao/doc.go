// Package dao has the answers of REST as data, for programs that read them.
//
// They have the fields that YuniKorn knows. What this scheduler tells beyond that is left out
// when an answer is read; docs/openapi.yaml shows all of it.
//
//	partitions.go    partitions, queues and placement rules
//	nodes.go         nodes and how much of them is used
//	applications.go  applications, asks and allocations
//	users.go         what users and groups have
//	scheduler.go     the scheduler: health, configuration, events, history, the state dump
package dao
