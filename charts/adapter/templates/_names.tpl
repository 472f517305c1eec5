{{- define "loadline-adapter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "loadline-adapter.fullname" -}}
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
{{- define "loadline-adapter.suffixed" -}}
{{- printf "%s-%s" (.name | trunc (int (sub 62 (len .suffix))) | trimSuffix "-") .suffix -}}
{{- end -}}

{{- define "loadline-adapter.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "loadline-adapter.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "loadline-adapter.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "loadline-adapter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "loadline-adapter.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "loadline-adapter.labels" -}}
{{- include "loadline-adapter.labelsAnd" (dict "root" .) -}}
{{- end -}}

{{/*
Labels of an object: those of the chart, `customLabels`, and .more; the later ones take precedence. Not for the labels that the selectors and Helm
need.
*/}}
{{- define "loadline-adapter.labelsAnd" -}}
{{- $chart := .root.Chart -}}
{{- $labels := dict "app.kubernetes.io/version" $chart.AppVersion "app.kubernetes.io/part-of" "loadline" "helm.sh/chart" (printf "%s-%s" $chart.Name $chart.Version | replace "+" "_") -}}
{{- $fixed := set (include "loadline-adapter.selectorLabels" .root | fromYaml) "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- toYaml (mergeOverwrite $labels (.root.Values.customLabels | default dict) (.more | default dict) $fixed) -}}
{{- end -}}

{{/* Labels and annotations of all objects. */}}
{{- define "loadline-adapter.metadata" -}}
labels:
  {{- include "loadline-adapter.labels" . | nindent 2 }}
{{- with .Values.customAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "loadline-adapter.image" -}}
{{- $repository := required "image.repository is empty: leave it out, or set it to the image in your registry, for example registry.example.com/loadline-autoscaler" .Values.image.repository -}}
{{- if regexMatch "(^|/)prometheus-adapter$" $repository -}}
{{- fail (printf "image.repository is %s, the image of prometheus-adapter: set it to your image of Loadline, for example registry.example.com/loadline-autoscaler" $repository) -}}
{{- end -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Labels and annotations of the pod of a hook (.purpose), with annotations for Helm (.helm). No selector of the release matches it. */}}
{{- define "loadline-adapter.hookMetadata" -}}
{{- $values := .root.Values -}}
{{- $own := dict "app.kubernetes.io/name" (include "loadline-adapter.suffixed" (dict "name" (include "loadline-adapter.name" .root) "suffix" .purpose)) "app.kubernetes.io/instance" .root.Release.Name -}}
labels:
  {{- toYaml (mergeOverwrite (dict) ($values.customLabels | default dict) ($values.hookPods.labels | default dict) $own) | nindent 2 }}
{{- with merge (dict) (.helm | default dict) ($values.hookPods.annotations | default dict) ($values.customAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Fields of the pods of hooks. */}}
{{- define "loadline-adapter.hookPod" -}}
restartPolicy: Never
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- /* Not the affinity to pods: it spreads the pods of the program, and a pod of a hook would wait for a node that has none of them. */}}
{{- with (.Values.affinity | default dict).nodeAffinity }}
affinity:
  nodeAffinity:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Fields of the containers of hooks. */}}
{{- define "loadline-adapter.hookContainer" -}}
image: {{ include "loadline-adapter.image" . | quote }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hookPods.resources | default (include "loadline-adapter.resources" . | fromYaml) }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The configuration file, from `rules`. */}}
{{- define "loadline-adapter.configuration" -}}
{{- $default := ternary (.Files.Get "files/default-rules.yaml" | fromYamlArray) list (eq .Values.rules.default true) }}
{{- $configuration := dict }}
{{- with concat $default (.Values.rules.custom | default list) }}{{ $_ := set $configuration "rules" . }}{{ end }}
{{- with .Values.rules.external }}{{ $_ := set $configuration "externalRules" . }}{{ end }}
{{- with .Values.rules.resource }}{{ $_ := set $configuration "resourceRules" . }}{{ end }}
{{- with .Values.rules.metrics }}{{ $_ := set $configuration "metrics" . }}{{ end }}
{{- toYaml $configuration }}
{{- end -}}

{{/* "true" if the adapter may patch its APIServices. */}}
{{- define "loadline-adapter.patchesAPIServices" -}}
{{- if and .Values.rbac.create (eq (include "loadline-adapter.tlsSource" .) "managed") (include "loadline-adapter.apiServiceNames" . | fromJson).names }}true{{ end -}}
{{- end -}}

{{/*
"true" if kube-apiserver has ValidatingAdmissionPolicies, or `rbac.admissionPolicy` says so. The version decides, because `helm template` knows no
kinds of a cluster.
*/}}
{{- define "loadline-adapter.createsAdmissionPolicy" -}}
{{- $create := .Values.rbac.admissionPolicy -}}
{{- if kindIs "invalid" $create }}{{ $create = semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}{{ end -}}
{{- if $create }}true{{ end -}}
{{- end -}}

{{/*
The update strategy of the Deployment. `rollingUpdate` is not left to the defaults of kube-apiserver, because server-side apply would not remove it
in a change to Recreate, which forbids it.
*/}}
{{- define "loadline-adapter.strategy" -}}
{{- $strategy := deepCopy (.Values.strategy | default dict) -}}
{{- if not $strategy.type }}{{ $_ := set $strategy "type" "RollingUpdate" }}{{ end -}}
{{- if eq $strategy.type "Recreate" -}}
{{- toYaml (omit $strategy "rollingUpdate") -}}
{{- else -}}
{{- if not $strategy.rollingUpdate }}{{ $_ := set $strategy "rollingUpdate" (dict "maxUnavailable" "25%" "maxSurge" "25%") }}{{ end -}}
{{- toYaml $strategy -}}
{{- end -}}
{{- end -}}

{{/*
"true" if a pod that is deleted sleeps before SIGTERM, at which it closes its port. Without the feature gate of Kubernetes 1.30 and later,
kube-apiserver refuses the hook.
*/}}
{{- define "loadline-adapter.sleeps" -}}
{{- $seconds := int .Values.preStopSleepSeconds -}}
{{- if and $seconds (semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version) -}}
{{- $period := kindIs "invalid" .Values.terminationGracePeriodSeconds | ternary 30 .Values.terminationGracePeriodSeconds | int -}}
{{- if ge $seconds $period -}}
{{- fail (printf "preStopSleepSeconds must be less than terminationGracePeriodSeconds (%d): it is %d. Set it to 0, or raise the other" $period $seconds) -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{/* Of the container. A value replaces all of the default: with a part of it, a request could be above the limit. */}}
{{- define "loadline-adapter.resources" -}}
{{- $default := dict "requests" (dict "cpu" "100m" "memory" "128Mi") "limits" (dict "memory" "816Mi") -}}
{{- toYaml (kindIs "invalid" .Values.resources | ternary $default .Values.resources) -}}
{{- end -}}
