package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DefaultPort is the port of a scheduler where none is said.
const DefaultPort = "9080"

// answerMax is how much of an answer is read, in bytes.
const answerMax = 1 << 30

// ErrNotFound is an answer that there is no such thing.
var ErrNotFound = errors.New("not found")

// missing is what the scheduler says of something that it does not know.
type missing string

func (m missing) Error() string        { return string(m) }
func (m missing) Is(target error) bool { return target == ErrNotFound }

// ErrMisunderstood is an answer that the question makes no sense as it is.
var ErrMisunderstood = errors.New("misunderstood")

// senseless is what the scheduler says of a question that makes no sense.
type senseless string

func (s senseless) Error() string        { return string(s) }
func (s senseless) Is(target error) bool { return target == ErrMisunderstood }

// TokenHeader has the bearer token where Authorization is for a proxy, such as the API server of
// Kubernetes.
const TokenHeader = "X-Narwhal-Authorization"

// A Client asks one scheduler about one partition. It is safe for concurrent use as long as
// its fields are not set any more.
type Client struct {
	// HTTP asks; nil is http.DefaultClient.
	HTTP *http.Client
	// Server is the address, such as http://127.0.0.1:9080, 127.0.0.1:9080 or 127.0.0.1,
	// which are the same; below it are /ws/v1 and the rest.
	Server string
	// Token is the bearer token, if the scheduler needs one. Proxied says that it is sent as
	// TokenHeader, since a proxy on the way has an Authorization of its own.
	Token   string
	Proxied bool
	// Partition is the name of the partition; empty is default.
	Partition string
}

// Queues are all queues, in a tree.
func (c *Client) Queues(ctx context.Context) (Answer[*Queue], error) {
	return ask[*Queue](ctx, c, http.MethodGet, "queues", nil)
}

// Nodes are the nodes, by name: all, or those that the parameters of REST pick.
func (c *Client) Nodes(ctx context.Context, where ...url.Values) (Answer[[]*Node], error) {
	return ask[[]*Node](ctx, c, http.MethodGet, picked("nodes", where), nil)
}

// Asks are the asks that wait, in the order in which they are tried: all, or those that the
// parameters of REST pick.
func (c *Client) Asks(ctx context.Context, where ...url.Values) (Answer[[]*Ask], error) {
	return ask[[]*Ask](ctx, c, http.MethodGet, picked("asks", where), nil)
}

// Groups are the groups of which so many members start together, by name: all, or those that the parameters of REST pick.
func (c *Client) Groups(ctx context.Context, where ...url.Values) (Answer[[]*Group], error) {
	return ask[[]*Group](ctx, c, http.MethodGet, picked("groups", where), nil)
}

// Domains are the domains of nodes of all levels that are configured, each before those in it: all, or those that the parameters
// of REST pick.
func (c *Client) Domains(ctx context.Context, where ...url.Values) (Answer[[]*Domain], error) {
	return ask[[]*Domain](ctx, c, http.MethodGet, picked("domains", where), nil)
}

// Preemptions are the last plans to make room, the newest first: all that are kept, or those
// that the parameters of REST pick.
func (c *Client) Preemptions(ctx context.Context, where ...url.Values) (Answer[[]*Preemption], error) {
	return ask[[]*Preemption](ctx, c, http.MethodGet, picked("preemptions", where), nil)
}

// Users are what users have and what waits of them, by name: all, or those that the parameters of REST pick.
func (c *Client) Users(ctx context.Context, where ...url.Values) (Answer[[]*Owner], error) {
	return ask[[]*Owner](ctx, c, http.MethodGet, picked("usage/users", where), nil)
}

// UserGroups are the same of groups of users.
func (c *Client) UserGroups(ctx context.Context, where ...url.Values) (Answer[[]*Owner], error) {
	return ask[[]*Owner](ctx, c, http.MethodGet, picked("usage/groups", where), nil)
}

// Applications are the active applications, by ID: all, or those that the parameters of REST pick.
func (c *Client) Applications(ctx context.Context, where ...url.Values) (Answer[[]*Application], error) {
	return ask[[]*Application](ctx, c, http.MethodGet, picked("applications/active", where), nil)
}

// Losses are the work that was lost by preemption, by day, queue and user: all, or those that the parameters of REST pick.
func (c *Client) Losses(ctx context.Context, where ...url.Values) (Answer[[]*Loss], error) {
	return ask[[]*Loss](ctx, c, http.MethodGet, picked("losses", where), nil)
}

// Doctor says what is wrong with a partition now.
func (c *Client) Doctor(ctx context.Context) (Answer[*Examination], error) {
	return ask[*Examination](ctx, c, http.MethodGet, "doctor", nil)
}

// picked is a path with the parameters that pick from its list.
func picked(path string, where []url.Values) string {
	for _, values := range where {
		if len(values) > 0 {
			return path + "?" + values.Encode()
		}
	}
	return path
}

// Explain says why an ask waits, or why an allocation is evicted.
func (c *Client) Explain(ctx context.Context, application, allocation string) (Answer[*Explanation], error) {
	path := "application/" + url.PathEscape(application) + "/allocation/" + url.PathEscape(allocation) + "/explain"
	return ask[*Explanation](ctx, c, http.MethodGet, path, nil)
}

// Knows reports whether there is an application of that ID.
func (c *Client) Knows(ctx context.Context, application string) (bool, error) {
	_, err := ask[struct{}](ctx, c, http.MethodGet, "application/"+url.PathEscape(application)+"?fields=applicationID", nil)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Clock is what time it is by the clock of the scheduler. In a recording that is played this is the
// moment that is shown.
func (c *Client) Clock(ctx context.Context) (time.Time, error) {
	_, head, err := c.do(ctx, http.MethodGet, "/ws/v1/partitions", nil)
	if err != nil {
		return time.Time{}, err
	}
	return madeAt(head), nil
}

// WhatIf says what would come of asks and applications.
func (c *Client) WhatIf(ctx context.Context, question *Question) (Answer[*Outcome], error) {
	body, err := json.Marshal(question)
	if err != nil {
		return Answer[*Outcome]{}, err
	}
	return ask[*Outcome](ctx, c, http.MethodPost, "whatif", body)
}

// An Answer is what the scheduler says: the part that tables need, and all of it.
type Answer[T any] struct {
	Value T
	JSON  json.RawMessage
	Total int // elements of the list without limit and offset; zero if it is none
	// At is when the answer was made, by the clock of the scheduler: ages count from it.
	At time.Time
	// AsOf is when what the answer tells was written last; zero if it does not say.
	AsOf time.Time
}

func ask[T any](ctx context.Context, c *Client, method, path string, body []byte) (Answer[T], error) {
	partition := c.Partition
	if partition == "" {
		partition = "default"
	}
	text, head, err := c.do(ctx, method, "/ws/v1/partition/"+url.PathEscape(partition)+"/"+path, body)
	if errors.Is(err, ErrNotFound) && strings.Contains(err.Error(), "Partition not found") {
		err = c.noPartition(ctx, partition, err)
	}
	if err != nil {
		return Answer[T]{}, err
	}
	answer := Answer[T]{JSON: text, At: madeAt(head)}
	answer.AsOf, _ = http.ParseTime(head.Get("Last-Modified")) // zero without it
	answer.Total, _ = strconv.Atoi(head.Get("X-Total-Count"))  // zero without it
	if err := json.Unmarshal(text, &answer.Value); err != nil {
		return Answer[T]{}, fmt.Errorf("%s answers no JSON that is expected: %w", c.Server, err)
	}
	return answer, nil
}

// madeAt is the end of the second in which an answer was made, so that nothing in it is younger.
func madeAt(head http.Header) time.Time {
	at, err := http.ParseTime(head.Get("Date"))
	if err != nil {
		return time.Now()
	}
	return at.Add(time.Second - 1)
}

// noPartition says which partitions there are, if that is known, or the error otherwise.
func (c *Client) noPartition(ctx context.Context, name string, otherwise error) error {
	var all []struct {
		Name string `json:"name"`
	}
	text, _, err := c.do(ctx, http.MethodGet, "/ws/v1/partitions", nil)
	if err != nil || json.Unmarshal(text, &all) != nil || len(all) == 0 {
		return otherwise
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return missing(fmt.Sprintf("there is no partition %q; there are %s", name, strings.Join(names, ", ")))
}

// do asks one question. What the scheduler says is wrong is the error.
func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, method, Address(c.Server)+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("server %q: %w", c.Server, err)
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" && c.Proxied {
		request.Header.Set(TokenHeader, "Bearer "+c.Token)
	} else if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	by := c.HTTP
	if by == nil {
		by = http.DefaultClient
	}
	response, err := by.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err := readAll(response.Body, answerMax)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Server, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, nil, refusal(c.Server, response, text)
	}
	return text, response.Header, nil
}

// readAll reads an answer, or says that it is longer than some bytes.
func readAll(from io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("the answer is longer than %d bytes", most)
	}
	return text, err
}

// Address is the address of a server with its protocol. Where none is given that is http, and
// the port DefaultPort unless another is given.
func Address(server string) string {
	if strings.Contains(server, "://") {
		return strings.TrimSuffix(server, "/")
	}
	host, below, _ := strings.Cut(server, "/")
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		host = address.String() // of IPv6 it has colons, and none is before a port
	} else if strings.Contains(host, ":") {
		return strings.TrimSuffix("http://"+server, "/")
	}
	return strings.TrimSuffix("http://"+net.JoinHostPort(host, DefaultPort)+"/"+below, "/")
}

// refusal is an answer that is none, in the words of the scheduler if it has any.
func refusal(server string, response *http.Response, text []byte) error {
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &said) != nil || said.Message == "" {
		return fmt.Errorf("%s answers %s", server, response.Status)
	}
	switch response.StatusCode {
	case http.StatusNotFound:
		return missing(said.Message)
	case http.StatusBadRequest:
		return senseless(said.Message)
	}
	return errors.New(said.Message)
}
