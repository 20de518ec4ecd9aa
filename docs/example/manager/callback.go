package main

import "github.com/apache/yunikorn-scheduler-interface/lib/go/si"

// UpdateApplication tells of applications that were refused.
func (m *manager) UpdateApplication(r *si.ApplicationResponse) error {
	for _, refused := range r.Rejected {
		m.news <- refused.ApplicationID + " is refused: " + refused.Reason
	}
	return nil
}

// UpdateNode tells of nodes that were refused.
func (m *manager) UpdateNode(r *si.NodeResponse) error {
	for _, refused := range r.Rejected {
		m.news <- refused.NodeID + " is refused: " + refused.Reason
	}
	return nil
}

// Predicates is asked whether a pod may run on a node: all may run on all.
func (m *manager) Predicates(*si.PredicatesArgs) error { return nil }

// PreemptionPredicates is asked the same of nodes without victims. Nil says that Predicates decides.
func (m *manager) PreemptionPredicates(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	return nil
}

// SendEvent brings event records, for people.
func (m *manager) SendEvent([]*si.EventRecord) {}

// UpdateContainerSchedulingState says why a pod waits.
func (m *manager) UpdateContainerSchedulingState(*si.UpdateContainerSchedulingStateRequest) {}
