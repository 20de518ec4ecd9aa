package webservice

import (
	"net/http"
	"sync"
	"time"
)

// A fileToken is the token of a file, which may be renewed there.
type fileToken struct {
	file string

	mu     sync.Mutex
	looked time.Time
	token  string // never empty
}

// AdmitTokenIn is for ServerConfig.Admit: it lets in clients that have the token of a file; nil without a file. The file is
// read anew for requests, at most once a second. One that is wrong by then leaves the token before in use.
func AdmitTokenIn(file string) (func(r *http.Request, token string) error, error) {
	token, err := ReadToken(file)
	if err != nil || token == "" {
		return nil, err
	}
	f := &fileToken{file: file, looked: time.Now(), token: token}
	return func(r *http.Request, token string) error { return only(f.at(time.Now()))(r, token) }, nil
}

// at is the token at a moment.
func (f *fileToken) at(now time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.looked) < lookPause {
		return f.token
	}
	f.looked = now
	if token, err := ReadToken(f.file); err == nil {
		f.token = token
	}
	return f.token
}
