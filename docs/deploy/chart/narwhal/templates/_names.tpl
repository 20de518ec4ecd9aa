{{/*
What objects of the namespace are called begins with the name of the release, so that a namespace may have
several. Services have at most 63 letters.
*/}}
{{- define "narwhal.name" -}}
{{- .Release.Name | trunc 43 | trimSuffix "-" -}}
{{- end -}}

{{/*
What is of the whole cluster is called after the namespace too, unless the release is called like it.
*/}}
{{- define "narwhal.clusterName" -}}
{{- if eq .Release.Name .Release.Namespace -}}{{ .Release.Name }}{{- else -}}{{ .Release.Namespace }}-{{ .Release.Name }}{{- end -}}
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
