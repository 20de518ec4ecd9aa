// Package docs holds the documents that the program serves.
package docs

import _ "embed" // for the directive below

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI is the OpenAPI 3.1 document of the REST interface, in YAML. It must not
// be changed.
func OpenAPI() []byte { return openAPI }
