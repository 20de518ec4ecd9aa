package migration

import (
	"math"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// clientOnly is a handle with a client and nothing else.
type clientOnly struct {
	framework.Handle
	client kubernetes.Interface
}

func (c clientOnly) ClientSet() kubernetes.Interface { return c.client }

const patternPod = `
metadata:
  namespace: dev
  name: web-0
  uid: u-1
  labels: {app: web, hash: h1, queue: root.dev, applicationId: web}
  annotations: {yunikorn.apache.org/user.info: '{"user":"anna","groups":["dev"]}'}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: set, controller: true}]
spec:
  nodeName: node-1
  schedulerName: narwhal
  priorityClassName: high
  nodeSelector: {disk: fast}
  tolerations: [{key: gpu, operator: Exists}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [hash]}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: arch, operator: In, values: [arm]}]
        - matchExpressions: [{key: arch, operator: In, values: [amd]}]
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: host, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [hash]}]
  containers:
  - {name: a, image: web, resources: {requests: {cpu: 1, example.com/gpu: 1}, limits: {cpu: 2, example.com/gpu: 1}}, ports: [{name: http, containerPort: 80, hostPort: 8080}, {containerPort: 9}]}
  - {name: b, image: log, resources: {requests: {cpu: 500m, memory: 1Gi}}}
  initContainers:
  - {name: i, image: x, resources: {requests: {memory: 2Gi}}, ports: [{containerPort: 1, hostPort: 1}]}
  - {name: side, image: y, restartPolicy: Always, ports: [{name: more, containerPort: 81, hostPort: 8081}, {name: http, containerPort: 82, hostPort: 8080}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}, {name: none, persistentVolumeClaim: {claimName: none}}]
`

const wantReservation = `metadata:
  annotations:
    descheduler.narwhal-scheduler.io/reserved-for: '{"owner":"set","pod":"u-1","name":"web-0"}'
    descheduler.narwhal-scheduler.io/reserved-labels: '{"app":"web","applicationId":"web","hash":"h1","queue":"root.dev"}'
    yunikorn.apache.org/app-id: web
    yunikorn.apache.org/queue: root.dev
    yunikorn.apache.org/user.info: '{"groups":["dev"],"user":"anna"}'
  labels:
    descheduler.narwhal-scheduler.io/reservation: job-uid
  name: reservation-job-uid
  namespace: dev
  ownerReferences:
  - apiVersion: descheduler.narwhal-scheduler.io/v1alpha1
    controller: true
    kind: PodMigrationJob
    name: job
    uid: job-uid
spec:
  activeDeadlineSeconds: 300
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - key: arch
            operator: In
            values:
            - arm
          - key: zone
            operator: In
            values:
            - z1
          matchFields:
          - key: metadata.name
            operator: NotIn
            values:
            - node-1
        - matchExpressions:
          - key: arch
            operator: In
            values:
            - amd
          - key: zone
            operator: In
            values:
            - z1
          matchFields:
          - key: metadata.name
            operator: NotIn
            values:
            - node-1
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - labelSelector:
          matchLabels:
            app: web
        topologyKey: host
  automountServiceAccountToken: false
  containers:
  - image: registry.k8s.io/pause:3.10
    name: reservation
    ports:
    - containerPort: 81
      hostPort: 8081
    - containerPort: 82
      hostPort: 8080
    resources:
      limits:
        example.com/gpu: "1"
      requests:
        cpu: 1500m
        example.com/gpu: "1"
        memory: 2Gi
    securityContext:
      allowPrivilegeEscalation: false
      capabilities:
        drop:
        - ALL
      runAsNonRoot: true
      runAsUser: 65535
      seccompProfile:
        type: RuntimeDefault
  enableServiceLinks: false
  nodeSelector:
    disk: fast
  priorityClassName: high
  restartPolicy: Never
  schedulerName: narwhal
  terminationGracePeriodSeconds: 1
  tolerations:
  - key: gpu
    operator: Exists
  topologySpreadConstraints:
  - labelSelector:
      matchExpressions:
      - key: hash
        operator: In
        values:
        - h1
      matchLabels:
        app: web
    maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
status: {}
`

// A reservation asks for what the pod asks for, and may run where the pod may: its volumes
// count, and its present node does not.
func TestReservationOf(t *testing.T) {
	pod := new(v1.Pod)
	assert.NilError(t, yaml.UnmarshalStrict([]byte(patternPod), pod))
	before := pod.DeepCopy()
	client := fake.NewClientset(
		&v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{VolumeName: "v"}},
		&v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"z1"}}}}},
		}}}},
	)
	c := &checks{args: NewArgs(), handle: clientOnly{client: client}}
	job := &Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "job-uid"}, Spec: Spec{TTL: &metav1.Duration{Duration: 5 * time.Minute}}}
	reservation, err := c.reservationOf(t.Context(), job, pod)
	assert.NilError(t, err)
	text, err := yaml.Marshal(reservation)
	assert.NilError(t, err)
	assert.Equal(t, string(text), wantReservation)
	assert.DeepEqual(t, pod, before)
	for ttl, seconds := range map[time.Duration]int64{1: 1, 1<<63 - 1: math.MaxInt32} {
		job.Spec.TTL.Duration = ttl
		reservation, err = c.reservationOf(t.Context(), job, pod)
		assert.NilError(t, err)
		assert.Equal(t, *reservation.Spec.ActiveDeadlineSeconds, seconds, "the API server takes 32 bits")
	}

	job.Spec.Reservation = &ReservationOptions{
		Preemption: &PreemptionOptions{},
		Template: &v1.PodTemplateSpec{Spec: v1.PodSpec{SchedulerName: "narwhal", Containers: []v1.Container{{Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("9")},
		}}}}},
	}
	reservation, err = c.reservationOf(t.Context(), job, pod)
	assert.NilError(t, err)
	assert.Equal(t, reservation.Spec.Containers[0].Resources.Requests.Cpu().String(), "9")
	assert.Equal(t, reservation.Namespace, "dev")
	assert.Equal(t, reservation.Annotations["descheduler.narwhal-scheduler.io/reservation-preempts"], "true")

	job.Spec.Reservation = &ReservationOptions{NodeNames: []string{"node-2", "node-3"}}
	reservation, err = c.reservationOf(t.Context(), job, pod)
	assert.NilError(t, err)
	var fields []string
	for _, term := range reservation.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		fields = append(fields, term.MatchExpressions[0].Values[0]+" "+term.MatchFields[0].Values[0])
	}
	assert.DeepEqual(t, fields, []string{"arm node-2", "arm node-3", "amd node-2", "amd node-3"})

	bare := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "p", UID: "u"}, Spec: v1.PodSpec{OS: &v1.PodOS{Name: v1.Windows}}}
	reservation, err = c.reservationOf(t.Context(), &Job{}, bare)
	assert.NilError(t, err)
	assert.Equal(t, reservation.Annotations["descheduler.narwhal-scheduler.io/reserved-for"], `{"pod":"u","name":"p"}`)
	assert.Assert(t, reservation.Spec.Containers[0].SecurityContext == nil)
}

// A term that holds nowhere does so with more in it.
func TestTermThatHoldsNowhere(t *testing.T) {
	spec := &v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{}}}}}}
	notOn(spec, "node-1")
	assert.DeepEqual(t, spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, []v1.NodeSelectorTerm{{}})
	assert.Equal(t, ptr.Deref(spec.RuntimeClassName, ""), "")
}
