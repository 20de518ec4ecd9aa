// Package access says which users and groups may use a queue. It is pure: groups of a
// user are found elsewhere, before.
package access
