package feasibility

import (
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// inGroup has a pod be of the group train, and take its card from a claim that was made for the group.
func inGroup(pod *v1.Pod) {
	group, template, claim := "train", "cards", "one"
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "card", ResourceClaimTemplateName: &template}}
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "card", ResourceClaimName: &claim}}
}

// groupOfCards is the group train, whose pods share one claim of the template.
func groupOfCards() pods.PodGroup {
	template := "cards"
	return pods.PodGroup{
		Namespace: "team", Name: "train", UID: "uid-train",
		ResourceClaims: []schedulingv1beta1.PodGroupResourceClaim{{Name: "card", ResourceClaimTemplateName: &template}},
	}
}

// Two pods share a claim, one that both name or that of their group. Where it is allocated for the first, the second may run, in thought and
// while the first is being bound, and nothing else gets the card, also when the first cannot be bound.
func TestPodsThatShareAClaim(t *testing.T) {
	for _, test := range []struct {
		name        string
		uses        func(*v1.Pod)
		fails       bool     // the first cannot be bound
		reservedFor []string // in the end
	}{
		{"named by both", usingCard("one"), false, []string{"first", "second"}},
		{"named by both, and the first fails", usingCard("one"), true, []string{"second"}},
		{"of their group", inGroup, false, []string{"train"}},
		{"of their group, and the first fails", inGroup, true, []string{"train"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second, other := aPod("first", test.uses), aPod("second", test.uses), aPod("other", usingCard("two"))
				one := cardClaim("one")
				if first.Spec.SchedulingGroup != nil {
					isController := true
					one.OwnerReferences = []metav1.OwnerReference{
						{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Name: "train", UID: "uid-train", Controller: &isController},
					}
				}
				c, client := newChecker(t, Options{}, deviceClass(), oneCard("b"), one, cardClaim("two"), first, second, other)
				endsWith(t, c)
				countVersions(client)
				c.SetPodGroup(groupOfCards())
				c.SetNode(aNode("a", "z1"))
				c.SetNode(aNode("b", "z2"))
				synctest.Wait()

				assert.Equal(t, answer(c.CheckWith(second, "b", []*v1.Pod{first}, nil)), "yes")
				assert.Equal(t, answer(c.CheckWith(other, "b", []*v1.Pod{first, second}, nil)), "cannot allocate all claims")
				wantAnswers(t, c, second, noDevice, "yes") // what was thought is forgotten
				wantAnswers(t, c, other, noDevice, "yes")

				assert.NilError(t, c.Reserve(t.Context(), first, "b"))
				wantAnswers(t, c, second, notThere, "yes")
				wantAnswers(t, c, other, noDevice, noDevice)
				assert.NilError(t, c.Reserve(t.Context(), second, "b"))

				c.SetPod(on(first, "b"))
				c.SetPod(on(second, "b"))
				for _, ends := range [][]*v1.Pod{{first}, {second}} { // without one of them the other has the card still
					assert.Equal(t, answer(c.CheckWith(other, "b", nil, ends)), "cannot allocate all claims")
				}
				assert.Equal(t, answer(c.CheckWith(other, "b", nil, []*v1.Pod{first, second})), "yes")
				c.RemovePod(first)
				c.RemovePod(second)

				if test.fails {
					c.Unreserve(t.Context(), first, "b")
				} else {
					assert.NilError(t, c.PreBind(t.Context(), first, "b"))
				}
				wantAnswers(t, c, other, noDevice, noDevice)
				assert.NilError(t, c.PreBind(t.Context(), second, "b"))
				synctest.Wait()
				claim, err := client.ResourceV1().ResourceClaims("team").Get(t.Context(), "one", metav1.GetOptions{})
				assert.NilError(t, err)
				assert.Assert(t, claim.Status.Allocation != nil)
				assert.DeepEqual(t, namesOf(claim.Status.ReservedFor), test.reservedFor)
				wantAnswers(t, c, aPod("third", test.uses), notThere, "yes")
				wantAnswers(t, c, other, noDevice, noDevice)
				assert.Equal(t, len(c.starts), 0)
			})
		})
	}
}

// notThere is the answer about a claim that has devices which the node does not reach.
const notThere = "never: resourceclaim not available on the node"

func namesOf(consumers []resourcev1.ResourceClaimConsumerReference) (names []string) {
	for _, consumer := range consumers {
		names = append(names, consumer.Name)
	}
	return names
}
