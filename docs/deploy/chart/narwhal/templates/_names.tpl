{{/*
What objects of the namespace are called begins with the name of the release, so that a namespace may have
several. It has at most 53 letters, and what is appended to it for the Service is no longer than the ten left.
*/}}
{{- define "narwhal.name" -}}
{{- .Release.Name | replace "." "-" -}}
{{- end -}}

{{/*
What is of the whole cluster is called after the namespace too, unless the release is called like it.
*/}}
{{- define "narwhal.clusterName" -}}
{{- if eq .Release.Name .Release.Namespace -}}{{ .Release.Name }}{{- else -}}{{ .Release.Namespace }}-{{ include "narwhal.name" . }}{{- end -}}
{{- end -}}

{{/* The pods of this release. */}}
{{- define "narwhal.selector" -}}
app: {{ include "narwhal.name" . }}-scheduler
{{- end -}}

{{/* The image, by its digest where that is given. */}}
{{- define "narwhal.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The groups of those that may create pods for users. */}}
{{- define "narwhal.trusted" -}}
[{{ range .Values.trustedNamespaces }}"system:serviceaccounts:{{ . }}", {{ end }}"system:serviceaccounts:{{ .Release.Namespace }}", "system:nodes"]
{{- end -}}
