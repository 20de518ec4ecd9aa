package migration

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// notOn forbids a pod one node. Of several terms one must hold, so each of them forbids it.
func notOn(spec *v1.PodSpec, node string) {
	forbidden := v1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpNotIn, Values: []string{node}}
	requireAny(spec, []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{forbidden}}})
}

// onOneOf allows a pod some nodes only. A term can name one.
func onOneOf(spec *v1.PodSpec, nodes []string) {
	terms := make([]v1.NodeSelectorTerm, len(nodes))
	for i, node := range nodes {
		terms[i].MatchFields = []v1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}}
	}
	requireAny(spec, terms)
}

// requireAny requires one of some terms of a pod, beside what it requires already. Each of its
// terms is joined with each new one, since terms are alternatives.
func requireAny(spec *v1.PodSpec, terms []v1.NodeSelectorTerm) {
	if spec.Affinity == nil {
		spec.Affinity = &v1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
	}
	affinity := spec.Affinity.NodeAffinity
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: terms}
		return
	}
	required := affinity.RequiredDuringSchedulingIgnoredDuringExecution
	var joined []v1.NodeSelectorTerm
	for _, a := range required.NodeSelectorTerms {
		if len(a.MatchExpressions)+len(a.MatchFields) == 0 {
			continue // it holds nowhere
		}
		for _, b := range terms {
			joined = append(joined, v1.NodeSelectorTerm{
				MatchExpressions: append(append([]v1.NodeSelectorRequirement(nil), a.MatchExpressions...), b.MatchExpressions...),
				MatchFields:      append(append([]v1.NodeSelectorRequirement(nil), a.MatchFields...), b.MatchFields...),
			})
		}
	}
	if len(joined) == 0 {
		joined = []v1.NodeSelectorTerm{{}}
	}
	required.NodeSelectorTerms = joined
}

// volumeTerms are the terms that the volumes of a pod require of its node, a list for each
// volume. A reservation has no claims, since a volume can be in use on one node only; so it
// would be placed where the replacement cannot run.
func (c *checks) volumeTerms(ctx context.Context, pod *v1.Pod) ([][]v1.NodeSelectorTerm, error) {
	client := c.handle.ClientSet().CoreV1()
	var all [][]v1.NodeSelectorTerm
	for i := range pod.Spec.Volumes {
		of := pod.Spec.Volumes[i].PersistentVolumeClaim
		if of == nil {
			continue
		}
		claim, err := client.PersistentVolumeClaims(pod.Namespace).Get(ctx, of.ClaimName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && claim.Spec.VolumeName == "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		volume, err := client.PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		case volume.Spec.NodeAffinity != nil && volume.Spec.NodeAffinity.Required != nil:
			all = append(all, volume.Spec.NodeAffinity.Required.NodeSelectorTerms)
		}
	}
	return all, nil
}
