package pods

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
)

// Labels and annotations of pods, as users of YuniKorn write them. Where both may stand,
// the label counts first.
const (
	LabelApplicationID   = common.DomainYuniKorn + "app-id"
	LabelQueue           = common.DomainYuniKorn + "queue"
	LabelUser            = common.DomainYuniKorn + "username"
	AnnotationUserInfo   = common.DomainYuniKorn + "user.info"
	AnnotationTaskGroups = common.DomainYuniKorn + "task-groups"
	AnnotationTaskGroup  = common.DomainYuniKorn + "task-group-name"
	AnnotationPolicy     = common.DomainYuniKorn + "schedulingPolicyParameters"
	AnnotationHolder     = common.DomainYuniKorn + "placeholder"

	// What a placeholder says in place of the task groups, which may be long: their hash, and how
	// many members its own has.
	AnnotationGroupsHash   = domain + "task-groups-hash"
	AnnotationGroupMembers = domain + "task-group-members"

	labelOldApplicationID = "applicationId"
	labelOldQueue         = "queue"
	labelSparkApplication = "spark-app-selector"

	tagNamespace = "namespace"
)

// noUser owns applications that state no user.
const noUser = "nobody"

// An Application is what a pod says of the application it belongs to. Those of two namespaces
// are two, whatever their IDs.
type Application struct {
	Namespace string
	ID        string
	Queue     string // as the pod states it; may be empty
	User      string // may be empty
	Groups    []string
	// Tags are the namespace and its quotas, for placement and limits.
	Tags map[string]string
	// TaskGroups are the parts of a gang, of an application that is one.
	TaskGroups []TaskGroup
	GroupsHash string // of the text of the task groups
	// Timeout is how long placeholders wait, in seconds; zero is not stated. Hard says that
	// the application fails after it.
	Timeout int64
	Hard    bool
	// NoPlaceholders says that its task groups start together when all of them fit, and that nothing holds room for them.
	NoPlaceholders bool
}

// ApplicationOf reads the application of a pod. Without an ID of its own it is that of its
// namespace and its user: an application has one user, whose limits hold for all of it. The
// namespace may be nil while it is not known.
//
// The error tells of annotations that cannot be read; the application is right without
// them.
func (r Rules) ApplicationOf(pod *v1.Pod, namespace *v1.Namespace) (Application, error) {
	app := Application{
		Namespace: pod.Namespace,
		Queue:     cmp.Or(stated(pod, LabelQueue), pod.Labels[labelOldQueue], r.DefaultQueue),
		Tags:      map[string]string{tagNamespace: pod.Namespace},
	}
	maps.Copy(app.Tags, namespaceTags(namespace))
	app.NoPlaceholders, _ = withoutPlaceholders(namespace) // CheckNamespace tells of the error
	err := errors.Join(app.readUser(pod), app.readGroups(pod))
	app.ID, app.Queue, app.User = idOf(pod, app.User), bounded(app.Queue), bounded(app.User)
	for i, group := range app.Groups {
		app.Groups[i] = bounded(group)
	}
	if err != nil {
		return app, fmt.Errorf("pod %s/%s: %s", pod.Namespace, pod.Name, clipped(err.Error()))
	}
	return app, nil
}

// ApplicationID is the ID of the application of a pod. It reads no task groups, of which a tenant may state many.
func ApplicationID(pod *v1.Pod) string {
	var app Application
	_ = app.readUser(pod) // what cannot be read says nothing
	return idOf(pod, app.User)
}

func idOf(pod *v1.Pod, user string) string {
	id := cmp.Or(stated(pod, LabelApplicationID), pod.Labels[labelOldApplicationID], pod.Labels[labelSparkApplication], ofNamespace(pod))
	if id == ofNamespace(pod) && user != "" {
		id += "-" + user
	}
	return bounded(id)
}

// ofNamespace is the application of pods that state none, and no user. The admission policy
// writes it into pods.
func ofNamespace(pod *v1.Pod) string { return "narwhal-" + pod.Namespace + "-autogen" }

// Qualified is the ID with the namespace. The core has it for an application whose ID one of
// another namespace has already.
func (a Application) Qualified() string { return bounded(a.Namespace + ":" + a.ID) }

// Bounds of texts. An annotation may have 256 KiB.
const (
	namesMax    = 1024 // bytes of a name that the scheduler core takes
	problemsMax = 500  // bytes of what is said of annotations
)

// bounded is a name that the core takes. A longer one ends with a hash, so that different ones
// stay different: a pod that runs must be counted whatever its name is.
func bounded(name string) string {
	if len(name) <= namesMax {
		return name
	}
	hash := fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))
	return strings.ToValidUTF8(name[:namesMax-len(hash)], "") + hash
}

// clipped is a text for people, which may quote an annotation.
func clipped(text string) string {
	if len(text) <= problemsMax {
		return text
	}
	return strings.ToValidUTF8(text[:problemsMax], "") + "..."
}

// stated is the value of a label, or of the annotation of the same name.
func stated(pod *v1.Pod, name string) string {
	return cmp.Or(pod.Labels[name], pod.Annotations[name])
}

// readUser takes the user and the groups that the admission recorded.
func (a *Application) readUser(pod *v1.Pod) error {
	a.User = pod.Labels[LabelUser]
	text := pod.Annotations[AnnotationUserInfo]
	if text == "" {
		return nil
	}
	var info struct {
		User   string   `json:"user"`
		Groups []string `json:"groups"`
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return fmt.Errorf("annotation %s: %w: a user and groups are expected, as in {\"user\": \"anna\", \"groups\": [\"dev\"]}", AnnotationUserInfo, err)
	}
	a.User, a.Groups = info.User, info.Groups
	return nil
}

// Request asks for the application. Created is when it began to exist, so that its age survives a
// restart. Forced is for an application of which pods run:
// it is never rejected.
func (a Application) Request(created time.Time, forced bool) *si.AddApplicationRequest {
	tags := maps.Clone(a.Tags)
	tags[common.CreationTime] = fmt.Sprintf("%d.%09d", created.Unix(), created.Nanosecond())
	if forced {
		tags[common.AppTagCreateForce] = "true"
	}
	request := &si.AddApplicationRequest{
		ApplicationID: a.ID,
		QueueName:     strings.TrimSpace(a.Queue),
		Ugi:           &si.UserGroupInformation{User: cmp.Or(a.User, noUser), Groups: a.Groups},
		Tags:          tags,
	}
	if len(a.TaskGroups) > 0 {
		request.PlaceholderAsk = a.Placeholders()
		request.ExecutionTimeoutMilliSeconds = a.Timeout * 1000
		request.GangSchedulingStyle = "Soft"
		if a.Hard {
			request.GangSchedulingStyle = "Hard"
		}
	}
	return request
}
