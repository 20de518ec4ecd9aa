package feasibility

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWatch changes what pods refer to, one thing after the other, and looks at the names
// that are told.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		claim := boundClaim("team", "data", v1.ReadWriteOnce)
		volume := boundVolume(claim)
		c, client := newChecker(t, Options{}, deviceClass(), volume)
		endsWith(t, c)
		countVersions(client)
		var mu sync.Mutex
		var seen []string
		if err := c.Watch(func(name string) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, name)
		}); err != nil {
			t.Fatal(err)
		}
		told := func(what string, err error, want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(seen)
			if diff := cmp.Diff(want, slices.Compact(seen)); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", what, err, diff)
			}
			seen = nil
		}
		ctx, core := t.Context(), client.CoreV1()
		told("what there is at first", nil, AnyDevice, anyVolume)
		_, err := core.PersistentVolumeClaims("team").Create(ctx, claim, metav1.CreateOptions{})
		told("a claim comes", err, "volume claim team/data")
		_, err = client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "ssd"}}, metav1.CreateOptions{})
		told("a storage class comes", err, anyVolume)
		volume = volume.DeepCopy()
		volume.Labels = map[string]string{"shelf": "1"}
		_, err = core.PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{})
		told("a volume that is bound changes", err)
		volume = volume.DeepCopy()
		volume.Status.Phase = v1.VolumeAvailable
		_, err = core.PersistentVolumes().UpdateStatus(ctx, volume, metav1.UpdateOptions{})
		told("a volume becomes free", err, anyVolume)
		_, err = client.StorageV1().CSINodes().Create(ctx, oneVolume("a"), metav1.CreateOptions{})
		told("a node can attach a volume", err, anyVolume)

		claims := client.ResourceV1().ResourceClaims("team")
		_, err = client.ResourceV1().ResourceSlices().Create(ctx, oneCard("b"), metav1.CreateOptions{})
		told("a node has a device", err, AnyDevice)
		card, err := claims.Create(ctx, cardClaim("one"), metav1.CreateOptions{})
		told("a claim for a device comes", err, "device claim team/one")
		card = card.DeepCopy()
		card.Status.Allocation = &resourcev1.AllocationResult{}
		card, err = claims.UpdateStatus(ctx, card, metav1.UpdateOptions{})
		told("it is allocated", err, "device claim team/one")
		card = card.DeepCopy()
		card.Status.Allocation = nil
		_, err = claims.UpdateStatus(ctx, card, metav1.UpdateOptions{})
		told("its device is given back", err, "device claim team/one", AnyDevice)
		told("it goes without a device", claims.Delete(ctx, "one", metav1.DeleteOptions{}))
		c.Learn(aPod("rival", apart(batchv1.JobCompletionIndexAnnotation, "1", v1.LabelHostname)))
		told("a term names the number of pods", nil, AnyClass)
	})
}

// TestReferences: the names are those that Watch tells.
func TestReferences(t *testing.T) {
	c, _ := newChecker(t, Options{})
	scratch := func(pod *v1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}})
	}
	templated := func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "card", ResourceClaimTemplateName: new("cards")}}
	}
	made := func(pod *v1.Pod) {
		pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "card", ResourceClaimName: new("p-card-x")}}
	}
	for _, want := range []struct {
		pod   *v1.Pod
		names []string
	}{
		{aPod("p"), nil},
		{aPod("p", claiming("data")), []string{"volume claim team/data", anyVolume}},
		{aPod("p", scratch), []string{"volume claim team/p-scratch", anyVolume}},
		{aPod("p", usingCard("one")), []string{"device claim team/one", AnyDevice}},
		{aPod("p", templated), []string{AnyDevice}},
		{aPod("p", requests("example.com/card=1")), []string{AnyDevice}},
		{aPod("p", templated, made), []string{"device claim team/p-card-x", AnyDevice}},
	} {
		if diff := cmp.Diff(want.names, c.References(want.pod)); diff != "" {
			t.Error(diff)
		}
	}
}
