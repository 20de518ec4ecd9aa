package pods_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// list reads amounts such as "cpu=100m memory=1Gi".
func list(pairs ...string) v1.ResourceList {
	amounts := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		amounts[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return amounts
}

func container(pairs ...string) v1.Container {
	return v1.Container{Resources: v1.ResourceRequirements{Requests: list(pairs...)}}
}

func sidecar(pairs ...string) v1.Container {
	always := v1.ContainerRestartPolicyAlways
	c := container(pairs...)
	c.RestartPolicy = &always
	return c
}

// plain are amounts by name.
func plain(r *si.Resource) map[string]int64 {
	amounts := map[string]int64{}
	for name, quantity := range r.Resources {
		amounts[name] = quantity.Value
	}
	return amounts
}

func TestResources(t *testing.T) {
	for name, c := range map[string]struct {
		spec   v1.PodSpec
		status v1.PodStatus
		want   map[string]int64
	}{
		"nothing asked for": {
			spec: v1.PodSpec{Containers: []v1.Container{{}}},
			want: map[string]int64{"pods": 1},
		},
		"containers add up": {
			spec: v1.PodSpec{Containers: []v1.Container{container("cpu", "100m", "memory", "1Gi"), container("cpu", "1.5", "nvidia.com/gpu", "2")}},
			want: map[string]int64{"pods": 1, "vcore": 1600, "memory": 1 << 30, "nvidia.com/gpu": 2},
		},
		"an init container that needs more counts alone": {
			spec: v1.PodSpec{
				InitContainers: []v1.Container{container("cpu", "2"), container("memory", "3Gi")},
				Containers:     []v1.Container{container("cpu", "1", "memory", "1Gi")},
			},
			want: map[string]int64{"pods": 1, "vcore": 2000, "memory": 3 << 30},
		},
		"a side-car runs beside containers and beside later init containers": {
			spec: v1.PodSpec{
				InitContainers: []v1.Container{container("cpu", "4"), sidecar("cpu", "1"), container("cpu", "5")},
				Containers:     []v1.Container{container("cpu", "2")},
			},
			want: map[string]int64{"pods": 1, "vcore": 6000},
		},
		"overhead is beside all": {
			spec: v1.PodSpec{Containers: []v1.Container{container("cpu", "1")}, Overhead: list("cpu", "250m", "memory", "120Mi")},
			want: map[string]int64{"pods": 1, "vcore": 1250, "memory": 120 << 20},
		},
		"amounts of the whole pod count instead of those of containers": {
			spec: v1.PodSpec{
				Containers: []v1.Container{container("cpu", "1", "ephemeral-storage", "1Gi")},
				Resources:  &v1.ResourceRequirements{Requests: list("cpu", "3")},
			},
			want: map[string]int64{"pods": 1, "vcore": 3000, "ephemeral-storage": 1 << 30},
		},
		"a pod that is made smaller holds what it uses until that is done": {
			spec: v1.PodSpec{Containers: []v1.Container{named("main", container("cpu", "1"))}},
			status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
				Name: "main", AllocatedResources: list("cpu", "2"),
				Resources: &v1.ResourceRequirements{Requests: list("cpu", "2")},
			}}},
			want: map[string]int64{"pods": 1, "vcore": 2000},
		},
		"huge amounts stay the largest number": {
			spec: v1.PodSpec{Containers: []v1.Container{container("cpu", "9E", "memory", "9E")}},
			want: map[string]int64{"pods": 1, "vcore": 1<<63 - 1, "memory": 9e18},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: c.spec, Status: c.status}
			assert.DeepEqual(t, plain(pods.Resources(pod)), c.want)
		})
	}
}

func named(name string, c v1.Container) v1.Container {
	c.Name = name
	return c
}

// A pod takes the most that it takes at any moment: each init container in its turn beside
// the side-cars before it, and in the end all containers beside all side-cars.
func TestResourcesAreTheMostOfAnyMoment(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var pod v1.Pod
		var running, most int64
		for range random.IntN(6) {
			milli := random.Int64N(4000)
			amount := fmt.Sprintf("%dm", milli)
			if random.IntN(2) == 0 {
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, sidecar("cpu", amount))
				running += milli
				most = max(most, running)
			} else {
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, container("cpu", amount))
				most = max(most, running+milli)
			}
		}
		for range 1 + random.IntN(3) {
			milli := random.Int64N(4000)
			pod.Spec.Containers = append(pod.Spec.Containers, container("cpu", fmt.Sprintf("%dm", milli)))
			running += milli
		}
		assert.Equal(t, plain(pods.Resources(&pod))["vcore"], max(most, running), "%+v", pod.Spec)
	}
}

// Whatever there is in a status, the amounts are those that the library of Kubernetes finds when it looks at all of it.
func TestResourcesOfAnyStatus(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	some := func() v1.ResourceList { return list("cpu", fmt.Sprint(1+random.IntN(8))) }
	status := func(name string) []v1.ContainerStatus {
		if random.IntN(2) == 0 {
			return nil
		}
		return []v1.ContainerStatus{{Name: name, AllocatedResources: some(), Resources: &v1.ResourceRequirements{Requests: some()}}}
	}
	for range 2000 {
		pod := &v1.Pod{Spec: v1.PodSpec{
			Containers:     []v1.Container{named("main", v1.Container{Resources: v1.ResourceRequirements{Requests: some()}})},
			InitContainers: []v1.Container{named("side-car", sidecar("cpu", "1"))},
			Overhead:       list("cpu", "100m"),
		}}
		pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = status("main"), status("side-car")
		if random.IntN(2) == 0 {
			pod.Spec.Resources = &v1.ResourceRequirements{Requests: some()}
		}
		if random.IntN(3) == 0 {
			pod.Status.AllocatedResources = some()
		}
		if random.IntN(3) == 0 {
			pod.Status.Resources = &v1.ResourceRequirements{Requests: some()}
		}
		if random.IntN(3) == 0 {
			reason := []string{v1.PodReasonDeferred, v1.PodReasonInfeasible}[random.IntN(2)]
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Reason: reason}}
		}
		want := helpers.PodRequests(pod, helpers.PodResourcesOptions{
			UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true, UseDRANodeAllocatableResourceClaimStatus: true,
		})
		assert.Equal(t, plain(pods.Resources(pod))["vcore"], want.Cpu().MilliValue(), "%+v", pod)
	}
}
