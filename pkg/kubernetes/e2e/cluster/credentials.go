package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Config connects as the administrator, to which everything is allowed, without a limit of requests.
func (c *Cluster) Config() *rest.Config { return c.configOf(c.token) }

func (c *Cluster) configOf(token string) *rest.Config {
	return &rest.Config{
		Host:            c.url,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.Authority.Bundle()},
		QPS:             -1, // no limit; the programs under test set their own
	}
}

// Client is a client of the administrator.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// ConfigOf connects as a service account, which may do what its roles allow.
func (c *Cluster) ConfigOf(ctx context.Context, namespace, serviceAccount string) (*rest.Config, error) {
	request := &authenticationv1.TokenRequest{}
	answer, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of service account %s/%s: %w", namespace, serviceAccount, err)
	}
	return c.configOf(answer.Status.Token), nil
}

// Kubeconfig writes a file with which programs connect as a config says, and returns its path.
func (c *Cluster) Kubeconfig(name string, config *rest.Config) (string, error) {
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	path := filepath.Join(c.folder, name+".kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return "", fmt.Errorf("kubeconfig of %s: %w", name, err)
	}
	return path, nil
}
