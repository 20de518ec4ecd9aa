package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	authentication "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// A question is what all commands have in common: the cluster, the scheduler in it, and how
// answers are written.
type question struct {
	streams genericiooptions.IOStreams
	flags   *genericclioptions.ConfigFlags

	service, serviceNamespace, port string
	tls                             bool
	account                         string // of which a token is asked for; empty is none
	partition                       string
	output                          string
}

// check refuses what can be told to be wrong before anything is asked.
func (q *question) check() error {
	switch q.output {
	case "", "json", "yaml":
		return nil
	default:
		return fmt.Errorf("-o %s: json or yaml is expected", q.output)
	}
}

// scheduler is a client that goes through the API server to the service of the scheduler.
func (q *question) scheduler(ctx context.Context) (*client.Client, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	config, err := q.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	by, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	scheme := "http"
	if q.tls {
		scheme = "https"
	}
	path := "api/v1/namespaces/" + url.PathEscape(q.serviceNamespace) + "/services/" + scheme + ":" + url.PathEscape(q.service) + ":" + url.PathEscape(q.port) + "/proxy"
	token, err := q.token(ctx, config)
	return &client.Client{HTTP: by, Server: host.JoinPath(path).String(), Partition: q.partition, Token: token, Proxied: true}, err
}

// token is one with which the scheduler lets the plugin read. It is none where there is no such
// account or the user may not have its tokens: perhaps the scheduler needs none.
func (q *question) token(ctx context.Context, config *rest.Config) (string, error) {
	if q.account == "" {
		return "", nil
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	seconds := int64(tokenLife.Seconds())
	request := &authentication.TokenRequest{Spec: authentication.TokenRequestSpec{Audiences: []string{replica.TokenAudience}, ExpirationSeconds: &seconds}}
	answer, err := api.CoreV1().ServiceAccounts(q.serviceNamespace).CreateToken(ctx, q.account, request, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("token of account %s: %w", q.account, err)
	}
	return answer.Status.Token, nil
}

// tokenLife is as short as the API server allows.
const tokenLife = 10 * time.Minute

// pod is a pod by name, in the namespace that kubectl would take.
func (q *question) pod(ctx context.Context, name string) (*v1.Pod, *v1.Namespace, error) {
	api, err := q.api()
	if err != nil {
		return nil, nil, err
	}
	namespace, _, err := q.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, nil, err
	}
	pod, err := api.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	of, err := api.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		of = nil // the application can be read without it, and not all users may read it
	}
	return pod, of, nil
}

func (q *question) api() (kubernetes.Interface, error) {
	config, err := q.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// names says what allocation keys are called: the pods of which they are the UIDs. Pods that
// are gone, or that the user may not list, stay keys.
func (q *question) names(ctx context.Context) func(key string) string {
	known := map[string]string{}
	for _, pod := range q.listed(ctx) {
		known[string(pod.UID)] = pod.Namespace + "/" + pod.Name
	}
	return func(key string) string {
		if name, ok := known[key]; ok {
			return name
		}
		return key
	}
}

// listed is all pods, or those of the namespace that kubectl would take if the user may not
// list others.
func (q *question) listed(ctx context.Context) []metav1.PartialObjectMetadata {
	config, err := q.flags.ToRESTConfig()
	if err != nil {
		return nil
	}
	api, err := metadata.NewForConfig(config)
	if err != nil {
		return nil
	}
	own, _, err := q.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil
	}
	pods := api.Resource(v1.SchemeGroupVersion.WithResource("pods"))
	for _, namespace := range []string{metav1.NamespaceAll, own} {
		if list, err := pods.Namespace(namespace).List(ctx, metav1.ListOptions{}); err == nil {
			return list.Items
		}
	}
	return nil
}

// write writes a whole answer as JSON or YAML, or a table of it.
func (q *question) write(whole json.RawMessage, table func() error) error {
	switch q.output {
	case "json":
		var value any
		if err := json.Unmarshal(whole, &value); err != nil {
			return err
		}
		encoder := json.NewEncoder(q.streams.Out)
		encoder.SetIndent("", "    ")
		return encoder.Encode(value)
	case "yaml":
		text, err := yaml.JSONToYAML(whole)
		if err != nil {
			return err
		}
		_, err = q.streams.Out.Write(text)
		return err
	default:
		return table()
	}
}
