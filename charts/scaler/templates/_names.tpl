{{- define "loadline-scaler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "loadline-scaler.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "loadline-scaler.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "loadline-scaler.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "loadline-scaler.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "loadline-scaler.selectorLabels" -}}
app.kubernetes.io/name: {{ include "loadline-scaler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "loadline-scaler.labels" -}}
{{ include "loadline-scaler.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: loadline
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.customLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels and annotations of all objects. */}}
{{- define "loadline-scaler.metadata" -}}
labels:
  {{- include "loadline-scaler.labels" . | nindent 2 }}
{{- with .Values.customAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "loadline-scaler.image" -}}
{{- $repository := required "image.repository is not set: build the image from the Dockerfile, push it to your registry, and set image.repository, for example to registry.example.com/loadline-autoscaler" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* "true" if several pods may run at a time: with leader election or with sharding. */}}
{{- define "loadline-scaler.electsLeader" -}}
{{- $enabled := .Values.leaderElection.enabled -}}
{{- if and .Values.sharding.enabled (not (kindIs "invalid" $enabled)) (not $enabled) -}}
{{- fail "leaderElection.enabled must not be false with sharding.enabled: the pods share the namespaces by Leases" -}}
{{- end -}}
{{- if kindIs "invalid" $enabled }}{{ $enabled = or .Values.sharding.enabled (gt (int .Values.replicas) 1) }}{{ end -}}
{{- if and (not $enabled) (gt (int .Values.replicas) 1) -}}
{{- fail "leaderElection.enabled must not be false with replicas > 1: every pod would scale every target" -}}
{{- end -}}
{{- if $enabled }}true{{ end -}}
{{- end -}}

{{/* The audience of tokens for the adapter whose Service is the argument, NAMESPACE/NAME. */}}
{{- define "loadline-scaler.adapterAudience" -}}
{{- $service := splitList "/" . -}}
{{- printf "%s.%s.svc" (last $service) (first $service) -}}
{{- end -}}

{{/* "true" if the pods serve decisions, so that clients must be able to verify them. */}}
{{- define "loadline-scaler.publishesCertificates" -}}
{{- if and .Values.rbac.authDelegator .Values.securePort }}true{{ end -}}
{{- end -}}

{{- define "loadline-scaler.certificateConfigMap" -}}
{{- printf "%s-serving-certificates" (include "loadline-scaler.fullname" .) -}}
{{- end -}}

{{- define "loadline-scaler.leaseName" -}}
{{- .Values.leaderElection.resourceName | default (include "loadline-scaler.fullname" .) -}}
{{- end -}}

{{/*
The CRDs that `watch` requires, as JSON: {install: [plural, ...], other: [plural, ...]}. `other` are in the cluster and belong to another release,
or were applied with another tool: this release does not change them. Without access to a cluster, all are installed.
*/}}
{{- define "loadline-scaler.crds" -}}
{{- $required := ternary (list "loadautoscalers" "scalingcalendars" "clusterscalingcalendars") (list "scalingmemories") (eq .Values.watch "loadautoscalers") -}}
{{- $install := list -}}
{{- $other := list -}}
{{- if (.Values.crds).install -}}
{{- range $required -}}
{{- $existing := (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (printf "%s.loadline.io" .)).metadata | default dict -}}
{{- $owner := $existing.annotations | default dict -}}
{{- if or (not $existing) (and (eq (index $owner "meta.helm.sh/release-name" | default "") $.Release.Name) (eq (index $owner "meta.helm.sh/release-namespace" | default "") $.Release.Namespace)) -}}
{{- $install = append $install . -}}
{{- else -}}
{{- $other = append $other . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "install" $install "other" $other) -}}
{{- end -}}
