// Package policy is what the policy file of the descheduler says.
//
// Read in this order:
//
//	policy.go  Policy, the form in which the descheduler uses it
package policy
