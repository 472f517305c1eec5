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

{{/* A name (.name) with a suffix (.suffix), not longer than a label may be, such as that of the pods of a Job. */}}
{{- define "loadline-scaler.suffixed" -}}
{{- printf "%s-%s" (.name | trunc (int (sub 62 (len .suffix))) | trimSuffix "-") .suffix -}}
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
app.kubernetes.io/name: {{ include "loadline-scaler.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "loadline-scaler.labels" -}}
{{- include "loadline-scaler.labelsAnd" (dict "root" .) -}}
{{- end -}}

{{/*
Labels of an object: those of the chart, `customLabels`, and .more; the later ones take precedence. Not for the labels that the selectors and Helm
need.
*/}}
{{- define "loadline-scaler.labelsAnd" -}}
{{- $chart := .root.Chart -}}
{{- $labels := dict "app.kubernetes.io/version" $chart.AppVersion "app.kubernetes.io/part-of" "loadline" "helm.sh/chart" (printf "%s-%s" $chart.Name $chart.Version | replace "+" "_") -}}
{{- $fixed := set (include "loadline-scaler.selectorLabels" .root | fromYaml) "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- toYaml (mergeOverwrite $labels (.root.Values.customLabels | default dict) (.more | default dict) $fixed) -}}
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
{{- $repository := required "image.repository is empty: leave it out, or set it to the image in your registry, for example registry.example.com/loadline-autoscaler" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Labels and annotations of the pod of a hook (.purpose), with annotations for Helm (.helm). No selector of the release matches it. */}}
{{- define "loadline-scaler.hookMetadata" -}}
{{- $values := .root.Values -}}
{{- $own := dict "app.kubernetes.io/name" (include "loadline-scaler.suffixed" (dict "name" (include "loadline-scaler.name" .root) "suffix" .purpose)) "app.kubernetes.io/instance" .root.Release.Name -}}
labels:
  {{- toYaml (mergeOverwrite (dict) ($values.customLabels | default dict) ($values.hookPods.labels | default dict) $own) | nindent 2 }}
{{- with merge (dict) (.helm | default dict) ($values.hookPods.annotations | default dict) ($values.customAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
"true" with leader election or with sharding. A single pod is elected too: otherwise it would scale beside the leader while a second one is added.
*/}}
{{- define "loadline-scaler.electsLeader" -}}
{{- $enabled := .Values.leaderElection.enabled -}}
{{- if and .Values.sharding.enabled (not (kindIs "invalid" $enabled)) (not $enabled) -}}
{{- fail "leaderElection.enabled must not be false with sharding.enabled: the pods share the namespaces by Leases" -}}
{{- end -}}
{{- if kindIs "invalid" $enabled }}{{ $enabled = true }}{{ end -}}
{{- if and (not $enabled) (gt (int .Values.replicas) 1) -}}
{{- fail "leaderElection.enabled must not be false with replicas > 1: every pod would scale every target" -}}
{{- end -}}
{{- if $enabled }}true{{ end -}}
{{- end -}}

{{/*
The update strategy of the Deployment. A single pod stops before its successor starts, because that of an older release may not be elected.
`rollingUpdate` is not left to the defaults of kube-apiserver, because server-side apply would not remove it in a change to Recreate, which forbids it.
*/}}
{{- define "loadline-scaler.strategy" -}}
{{- $several := or (eq .Values.sharding.enabled true) (gt (int .Values.replicas) 1) -}}
{{- $strategy := deepCopy (.Values.strategy | default (dict "type" (ternary "RollingUpdate" "Recreate" $several))) -}}
{{- if not $strategy.type }}{{ $_ := set $strategy "type" "RollingUpdate" }}{{ end -}}
{{- if eq $strategy.type "Recreate" -}}
{{- toYaml (omit $strategy "rollingUpdate") -}}
{{- else -}}
{{- if not $strategy.rollingUpdate }}{{ $_ := set $strategy "rollingUpdate" (dict "maxUnavailable" "25%" "maxSurge" "25%") }}{{ end -}}
{{- toYaml $strategy -}}
{{- end -}}
{{- end -}}

{{/*
"true" if metrics are read directly from adapters. A release in a few namespaces that needs no ClusterRole gets none for that, unless
`adapter.service` is set.
*/}}
{{- define "loadline-scaler.readsDirectly" -}}
{{- $adapter := .Values.adapter -}}
{{- if ne ($adapter.connection | default "auto") "never" -}}
{{- if or (empty .Values.watchNamespaces) .Values.rbac.authDelegator $adapter.service }}true{{ end -}}
{{- else if or $adapter.service (has (toString $adapter.stream) (list "always" "true")) (has (toString $adapter.reconcileOnChange) (list "always" "true")) -}}
{{- fail "adapter.connection: never contradicts the other values of adapter: remove it, or adapter.service, adapter.stream and adapter.reconcileOnChange" -}}
{{- end -}}
{{- end -}}

{{/* The URL of Prometheus. */}}
{{- define "loadline-scaler.prometheusUrl" -}}
{{- $url := tpl .Values.prometheus.url . | trim -}}
{{- if not (regexMatch "^https?://([^/?#]*@)?([^/?#@:]+|[[][0-9A-Fa-f:.]+[]])(:[0-9]*)?([/?#]|$)" $url) -}}
{{- fail (printf "prometheus.url must be http:// or https:// followed by a host, for example http://prometheus.default.svc:9090: it is %q" $url) -}}
{{- end -}}
{{- $url -}}
{{- end -}}

{{/* The ServiceAccount with whose tokens metrics are read directly. */}}
{{- define "loadline-scaler.metricsReader" -}}
{{- .Values.adapter.serviceAccountName | default (include "loadline-scaler.suffixed" (dict "name" (include "loadline-scaler.fullname" .) "suffix" "metrics-reader")) -}}
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

{{/* "true" if the scaler may patch pods. */}}
{{- define "loadline-scaler.patchesPods" -}}
{{- if and .Values.rbac.create .Values.rbac.podDeletionCost (eq .Values.watch "loadautoscalers") }}true{{ end -}}
{{- end -}}

{{/*
"true" if kube-apiserver has ValidatingAdmissionPolicies, or `rbac.admissionPolicy` says so. The version decides, because `helm template` knows no
kinds of a cluster.
*/}}
{{- define "loadline-scaler.createsAdmissionPolicy" -}}
{{- $create := .Values.rbac.admissionPolicy -}}
{{- if kindIs "invalid" $create }}{{ $create = semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}{{ end -}}
{{- if $create }}true{{ end -}}
{{- end -}}

{{/*
How Prometheus verifies the scaler: the field `tlsConfig` of a ServiceMonitor. Prometheus connects to the IP address of a pod, so the name in the
certificate is given. The CA can only be read from the namespace of the ServiceMonitor.
*/}}
{{- define "loadline-scaler.scrapeTls" -}}
{{- $namespace := include "loadline-scaler.namespace" . -}}
{{- $fix := "set serviceMonitor.tlsConfig, for example to {insecureSkipVerify: true}, which does not verify it" -}}
{{- if .Values.serviceMonitor.tlsConfig -}}
{{- toYaml .Values.serviceMonitor.tlsConfig -}}
{{- else if not .Values.tls.existingSecret -}}
{{- fail (printf "serviceMonitor.enabled without tls.existingSecret: Prometheus cannot verify a certificate that each pod creates at its start. Set tls.existingSecret, or %s" $fix) -}}
{{- else if ne (.Values.serviceMonitor.namespace | default $namespace) $namespace -}}
{{- fail (printf "serviceMonitor.namespace is not %s, where tls.existingSecret is: Prometheus reads the CA from the namespace of the ServiceMonitor. Remove serviceMonitor.namespace, or %s" $namespace $fix) -}}
{{- else -}}
serverName: {{ include "loadline-scaler.fullname" . }}.{{ $namespace }}.svc
ca:
  secret:
    name: {{ .Values.tls.existingSecret }}
    key: ca.crt
{{- end -}}
{{- end -}}

{{/* Of the container. A value replaces all of the default: with a part of it, a request could be above the limit. */}}
{{- define "loadline-scaler.resources" -}}
{{- $default := dict "requests" (dict "cpu" "100m" "memory" "128Mi") "limits" (dict "memory" "512Mi") -}}
{{- toYaml (kindIs "invalid" .Values.resources | ternary $default .Values.resources) -}}
{{- end -}}
