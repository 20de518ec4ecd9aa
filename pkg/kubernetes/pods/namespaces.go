package pods

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Annotations of namespaces, as users of YuniKorn write them.
const (
	AnnotationQuota           = common.DomainYuniKorn + "namespace.quota"
	AnnotationGuaranteed      = common.DomainYuniKorn + "namespace.guaranteed"
	AnnotationApplicationsMax = common.DomainYuniKorn + "namespace.maxApps"
	AnnotationParentQueue     = common.DomainYuniKorn + "parentqueue"
	AnnotationNamespaceQueue  = common.DomainYuniKorn + "queue" // for all pods of it
	// AnnotationPlaceholders says with "false" that no placeholders are made for task groups: they start together when all of them fit.
	AnnotationPlaceholders = domain + "placeholders"

	annotationOldCPU    = common.DomainYuniKorn + "namespace.max.cpu"
	annotationOldMemory = common.DomainYuniKorn + "namespace.max.memory"

	tagParentQueue    = "namespace.parentqueue"
	tagNamespaceQueue = "namespace.queue"
)

// namespaceTags are the quotas of a namespace as tags of its applications. What cannot be
// read is left out; CheckNamespace tells of it.
func namespaceTags(namespace *v1.Namespace) map[string]string {
	tags, _ := readNamespace(namespace)
	return tags
}

// CheckNamespace says which annotations of a namespace cannot be read.
func CheckNamespace(namespace *v1.Namespace) error {
	_, err := readNamespace(namespace)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespace.Name, err)
	}
	return nil
}

func readNamespace(namespace *v1.Namespace) (map[string]string, error) {
	if namespace == nil {
		return nil, nil
	}
	tags := map[string]string{}
	var problems []error
	take := func(tag, annotation, text string) {
		if text == "" {
			return
		}
		value, err := quota(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("annotation %s: %w", annotation, err))
			return
		}
		tags[tag] = value
	}
	annotations := namespace.Annotations
	take(common.AppTagNamespaceResourceQuota, AnnotationQuota, cmp.Or(annotations[AnnotationQuota], oldQuota(annotations)))
	take(common.AppTagNamespaceResourceGuaranteed, AnnotationGuaranteed, annotations[AnnotationGuaranteed])
	for tag, annotation := range map[string]string{
		common.AppTagNamespaceResourceMaxApps: AnnotationApplicationsMax, tagParentQueue: AnnotationParentQueue, tagNamespaceQueue: AnnotationNamespaceQueue,
	} {
		if text := annotations[annotation]; text != "" {
			tags[tag] = text
		}
	}
	if _, err := withoutPlaceholders(namespace); err != nil {
		problems = append(problems, err)
	}
	return tags, errors.Join(problems...)
}

// withoutPlaceholders reports whether task groups in a namespace have no placeholders.
func withoutPlaceholders(namespace *v1.Namespace) (bool, error) {
	if namespace == nil || namespace.Annotations[AnnotationPlaceholders] == "" {
		return false, nil
	}
	made, err := strconv.ParseBool(namespace.Annotations[AnnotationPlaceholders])
	if err != nil {
		return false, fmt.Errorf("annotation %s is %q, and true or false is expected", AnnotationPlaceholders, clipped(namespace.Annotations[AnnotationPlaceholders]))
	}
	return !made, nil
}

// oldQuota is the quota of a namespace that has it in two annotations, one a kind.
func oldQuota(annotations map[string]string) string {
	kinds := map[string]string{}
	if text := annotations[annotationOldCPU]; text != "" {
		kinds["cpu"] = text
	}
	if text := annotations[annotationOldMemory]; text != "" {
		kinds["memory"] = text
	}
	if len(kinds) == 0 {
		return ""
	}
	text, _ := json.Marshal(kinds) // a map of strings is always JSON
	return string(text)
}

// quota reads amounts such as {"cpu": "64", "memory": "100G"} and writes them as the tag
// that the scheduler-interface has for them.
func quota(text string) (string, error) {
	var kinds map[string]string
	if err := json.Unmarshal([]byte(text), &kinds); err != nil {
		return "", fmt.Errorf("%w: amounts are expected, as in {\"cpu\": \"64\", \"memory\": \"100G\"}", err)
	}
	list := v1.ResourceList{}
	for name, amount := range kinds {
		quantity, err := resource.ParseQuantity(amount)
		if err != nil {
			return "", fmt.Errorf("%s %q: %w", name, amount, err)
		}
		if quantity.Sign() < 0 {
			return "", fmt.Errorf("%s %q is negative", name, amount)
		}
		list[v1.ResourceName(name)] = quantity
	}
	tag, err := json.Marshal(Amounts(list))
	return string(tag), err
}
