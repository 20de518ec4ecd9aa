package shimtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// Three pods of a group name one claim, and there is one card. They start together where it is, each time in one attempt, also where the claim comes
// after them. It is kept for the group if that has the claim, and else for each pod.
func TestPodsOfAGroupShareACard(t *testing.T) {
	for _, ofGroup := range []bool{true, false} {
		for _, late := range []bool{true, false} {
			t.Run(fmt.Sprintf("of the group %t, late %t", ofGroup, late), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := shimtest.New(t, shimtest.Options{Feasibility: filters})
					m.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
					group := shimtest.NewPodGroup("train", 3)
					if ofGroup {
						claims := []any{map[string]any{"name": "card", "resourceClaimName": "shared"}}
						assert.NilError(t, unstructured.SetNestedSlice(group.Object, claims, "spec", "resourceClaims"))
					}
					m.Create(group, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "card"}}, oneCard("node-2"))
					for i := range 3 {
						m.AddNode(fmt.Sprintf("node-%d", i+1), "cpu=8 pods=110")
					}
					m.Start()
					if !late {
						m.Create(cardClaim("shared"))
					}
					for i := range 3 {
						m.AddPod(fmt.Sprintf("train-%d", i), "cpu=1", inGroup("train"), withCard("shared"))
					}
					m.Advance(soon)
					if late {
						assert.Equal(t, m.Pod("train-0").Spec.NodeName, "")
						m.Create(cardClaim("shared"))
						m.Advance(soon)
					}
					var pods []string
					for i := range 3 {
						pod := m.Pod(fmt.Sprintf("train-%d", i))
						assert.Equal(t, pod.Spec.NodeName, "node-2", pod.Name)
						pods = append(pods, pod.Name)
					}
					claim, err := m.API.ResourceV1().ResourceClaims(metav1.NamespaceDefault).Get(t.Context(), "shared", metav1.GetOptions{})
					assert.NilError(t, err)
					var keeps []string
					for _, by := range claim.Status.ReservedFor {
						keeps = append(keeps, by.Name)
					}
					if ofGroup {
						pods = []string{"train"}
					}
					assert.DeepEqual(t, sorted(keeps), pods)
					assert.Assert(t, !said(m, "FailedBinding"), "%v", m.Events())
					assert.DeepEqual(t, m.Booked(), m.Expected())
				})
			})
		}
	}
}

// Two replicas start together, each with three pods that share a card. Each goes to a node with a card and room for all of it, not both to one, and
// not to the nodes that have room for two.
func TestPodsOfEachReplicaShareACard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
		serveComposites(m)
		m.Create(replica("blue", "serve", 3), replica("green", "serve", 3), cardClaim("of-blue"), cardClaim("of-green"))
		m.Create(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "card"}})
		for i := range 3 {
			node := fmt.Sprintf("node-%d", i+1)
			m.AddNode(node, "cpu=2 pods=110")
			m.Create(oneCard(node))
		}
		m.AddNode("node-4", "cpu=3 pods=110")
		m.Create(oneCard("node-4"))
		m.Start()
		groupWorld{m}.compose(t, shimtest.NewCompositePodGroup("serve", 2))
		for i := range 3 {
			m.AddPod(fmt.Sprintf("blue-%d", i), "cpu=1", inGroup("blue"), withCard("of-blue"))
			m.AddPod(fmt.Sprintf("green-%d", i), "cpu=1", inGroup("green"), withCard("of-green"))
		}
		m.Advance(10 * time.Second)
		assert.Equal(t, len(m.API.Bindings()), 0, "%v", m.Events())

		m.AddNode("node-5", "cpu=3 pods=110")
		m.Create(oneCard("node-5"))
		m.Advance(soon)
		for i := range 3 {
			for _, of := range []string{"blue", "green"} {
				assert.Equal(t, m.Pod(fmt.Sprintf("%s-%d", of, i)).Spec.NodeName, m.Pod(of+"-0").Spec.NodeName, "%v", m.Events())
			}
		}
		assert.Equal(t, len(m.API.Bindings()), 6, "%v", m.Events())
		assert.Assert(t, !said(m, "FailedBinding"), "%v", m.Events())
		assert.DeepEqual(t, m.Booked(), m.Expected())
	})
}

// Each of three nodes has a card, and room for two of three pods that share one: they wait whole, and start on the node that has room
// for all of them.
func TestPodsOfAGroupGoWhereTheyCanShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
		m.Create(shimtest.NewPodGroup("train", 3), &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "card"}}, cardClaim("shared"))
		for i := range 3 {
			node := fmt.Sprintf("node-%d", i+1)
			m.AddNode(node, "cpu=2 pods=110")
			m.Create(oneCard(node))
		}
		m.Start()
		for i := range 3 {
			m.AddPod(fmt.Sprintf("train-%d", i), "cpu=1", inGroup("train"), withCard("shared"))
		}
		m.Advance(10 * time.Second)
		for i := range 3 {
			assert.Equal(t, m.Pod(fmt.Sprintf("train-%d", i)).Spec.NodeName, "", "%v", m.Events())
		}
		m.AddNode("node-4", "cpu=3 pods=110")
		m.Create(oneCard("node-4"))
		m.Advance(soon)
		for i := range 3 {
			assert.Equal(t, m.Pod(fmt.Sprintf("train-%d", i)).Spec.NodeName, "node-4", "%v", m.Events())
		}
		assert.Assert(t, !said(m, "FailedBinding"), "%v", m.Events())
	})
}
