// Package types has the names of placement rules, as they are written in a configuration.
package types

// The rules.
const (
	Fixed    = "fixed"
	Provided = "provided"
	Tag      = "tag"
	User     = "user"
)
