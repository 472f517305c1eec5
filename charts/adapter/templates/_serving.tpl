{{/* Source of the serving certificate: certManager, inline, existing, generated, managed or self-signed. */}}
{{- define "loadline-adapter.tlsSource" -}}
{{- $chosen := list -}}
{{- if .Values.certManager.enabled }}{{ $chosen = append $chosen "certManager" }}{{ end -}}
{{- if .Values.tls.enable }}{{ $chosen = append $chosen "inline" }}{{ end -}}
{{- if .Values.tls.existingSecret }}{{ $chosen = append $chosen "existing" }}{{ end -}}
{{- if .Values.tls.generate }}{{ $chosen = append $chosen "generated" }}{{ end -}}
{{- if gt (len $chosen) 1 -}}
{{- fail "choose only one source of the serving certificate: certManager.enabled, tls.enable, tls.existingSecret or tls.generate" -}}
{{- end -}}
{{- $isManaged := and (eq .Values.tls.managed true) (not (include "loadline-adapter.namesCertificate" .)) -}}
{{- first $chosen | default (ternary "managed" "self-signed" $isManaged) -}}
{{- end -}}

{{/* "true" if `extraArguments` name a certificate, as the values of prometheus-adapter's chart show it. The chart does not know its CA. */}}
{{- define "loadline-adapter.namesCertificate" -}}
{{- range .Values.extraArguments -}}
{{- if hasPrefix "--tls-cert-file" . }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* "true" if the certificate is mounted from a Secret. */}}
{{- define "loadline-adapter.mountsCertificate" -}}
{{- if not (has (include "loadline-adapter.tlsSource" .) (list "managed" "self-signed")) }}true{{ end -}}
{{- end -}}

{{/* The Secret in which the replicas share the certificate that they manage. */}}
{{- define "loadline-adapter.managedSecret" -}}
{{- printf "%s-managed-cert" (include "loadline-adapter.fullname" . | trunc 50 | trimSuffix "-") -}}
{{- end -}}

{{/* The APIServices to register, as JSON: {registered: [{group, version, priority}, ...]}. */}}
{{- define "loadline-adapter.apiServices" -}}
{{- $registered := list }}
{{- if include "loadline-adapter.serves" (dict "root" . "api" "custom") }}
{{- /* The HPA controller uses the version with the highest priority. Both versions return the same values. */}}
{{- $registered = append $registered (dict "group" "custom.metrics.k8s.io" "version" "v1beta2" "priority" 200) }}
{{- $registered = append $registered (dict "group" "custom.metrics.k8s.io" "version" "v1beta1" "priority" 100) }}
{{- end }}
{{- if include "loadline-adapter.serves" (dict "root" . "api" "external") }}
{{- $registered = append $registered (dict "group" "external.metrics.k8s.io" "version" "v1beta1" "priority" 100) }}
{{- end }}
{{- if include "loadline-adapter.serves" (dict "root" . "api" "resource") }}
{{- $registered = append $registered (dict "group" "metrics.k8s.io" "version" "v1beta1" "priority" 100) }}
{{- end }}
{{- toJson (dict "registered" $registered) -}}
{{- end -}}

{{/* The names of the APIServices, as JSON: {names: [...]}. */}}
{{- define "loadline-adapter.apiServiceNames" -}}
{{- $names := list }}
{{- range (include "loadline-adapter.apiServices" . | fromJson).registered }}
{{- $names = append $names (printf "%s.%s" .version .group) }}
{{- end }}
{{- toJson (dict "names" $names) -}}
{{- end -}}

{{/*
How kube-apiserver verifies the APIService .name while the adapter manages the certificate. Helm patches an APIService with the difference
between the manifests of two revisions, whatever is in the cluster. So the manifest contains what the adapter has written, and a rollback to a
revision with insecureSkipTLSVerify replaces it. Without access to a cluster (`helm template`, Argo CD), the field is left to the adapter.
An APIService that is not verified, such as that of prometheus-adapter's chart, becomes so at the first upgrade after the adapter has created
its certificate: until then, pods without this certificate may respond.
*/}}
{{- define "loadline-adapter.managedTrust" -}}
{{- $current := (lookup "apiregistration.k8s.io/v1" "APIService" "" .name).spec | default dict -}}
{{- $stored := (lookup "v1" "Secret" (include "loadline-adapter.namespace" .root) (include "loadline-adapter.managedSecret" .root)).data | default dict -}}
{{- $bundle := index $stored "ca.crt" | default $current.caBundle -}}
{{- if $bundle -}}
caBundle: {{ $bundle }}
{{- else if $current.insecureSkipTLSVerify -}}
caBundle: ""
insecureSkipTLSVerify: true
{{- end -}}
{{- end -}}

{{- define "loadline-adapter.tlsSecret" -}}
{{- .Values.tls.existingSecret | default (printf "%s-serving-cert" (include "loadline-adapter.fullname" .)) -}}
{{- end -}}

{{/* "true" if the API (.api: custom, external or resource) is to be registered. */}}
{{- define "loadline-adapter.serves" -}}
{{- $rules := .root.Values.rules -}}
{{- $choice := index .root.Values.apiServices .api -}}
{{- $fed := false -}}
{{- if eq .api "custom" }}{{ $fed = or $rules.default $rules.custom }}{{ end -}}
{{- if eq .api "external" }}{{ $fed = $rules.external }}{{ end -}}
{{- if eq .api "resource" }}{{ $fed = $rules.resource }}{{ end -}}
{{- range $rules.metrics -}}
{{- if eq $.api (ternary "external" "custom" (empty .describes)) }}{{ $fed = true }}{{ end -}}
{{- end -}}
{{- if or (eq $choice "always") (and (eq $choice "auto") $fed) }}true{{ end -}}
{{- end -}}

{{/* The URL of Prometheus, from prometheus.url, .port and .path. A port in the URL replaces the default of .port. */}}
{{- define "loadline-adapter.prometheusUrl" -}}
{{- $url := tpl (.Values.prometheus.url | default "") . | trim -}}
{{- $server := regexFind "^https?://[^/?#]+" $url -}}
{{- if not $server -}}
{{- fail (printf "prometheus.url must be http:// or https:// followed by a host, for example http://prometheus.default.svc: it is %q" $url) -}}
{{- end -}}
{{- $rest := trimPrefix $server $url -}}
{{- $query := regexFind "[?].*$" $rest -}}
{{- $path := trimSuffix $query $rest | trimSuffix "/" -}}
{{- with trimAll "/" (.Values.prometheus.path | default "") }}{{ $path = printf "%s/%s" $path . }}{{ end -}}
{{- $port := "" -}}
{{- with .Values.prometheus.port }}{{ $port = toString . }}{{ end -}}
{{- if eq $port "0" }}{{ $port = "" }}{{ end -}}
{{- if regexMatch ":[0-9]+$" $server -}}
{{- if and $port (ne $port "9090") (not (hasSuffix (printf ":%s" $port) $server)) -}}
{{- fail (printf "prometheus.url has a port (%s) and prometheus.port is %s: set only one of them" $server $port) -}}
{{- end -}}
{{- else if $port -}}
{{- $server = printf "%s:%s" $server $port -}}
{{- end -}}
{{- $server }}{{ $path }}{{ $query -}}
{{- end -}}

{{/* Fails unless the value (.value) of tls.NAME (.name) is PEM; .because names the value that requires it. */}}
{{- define "loadline-adapter.requirePem" -}}
{{- if not (contains "-----BEGIN " (.value | default "")) -}}
{{- fail (printf "%s requires tls.%s: %s in PEM format" .because .name .what) -}}
{{- end -}}
{{- end -}}

{{/* "true" if the chart knows the CA of the certificate only from `tls.ca`, and not from a Secret of the release. */}}
{{- define "loadline-adapter.hasGivenCA" -}}
{{- if has (include "loadline-adapter.tlsSource" .) (list "inline" "existing") }}true{{ end -}}
{{- end -}}

{{/*
How Prometheus verifies the adapter: the field `tlsConfig` of a ServiceMonitor. Prometheus connects to the IP address of a pod, so the name in the
certificate is given. The CA can only be read from the namespace of the ServiceMonitor.
*/}}
{{- define "loadline-adapter.scrapeTls" -}}
{{- $source := include "loadline-adapter.tlsSource" . -}}
{{- $fullname := include "loadline-adapter.fullname" . -}}
{{- $namespace := include "loadline-adapter.namespace" . -}}
{{- $fix := "set serviceMonitor.tlsConfig, for example to {insecureSkipVerify: true}, which does not verify it" -}}
{{- if .Values.serviceMonitor.tlsConfig -}}
{{- toYaml .Values.serviceMonitor.tlsConfig -}}
{{- else if eq $source "self-signed" -}}
{{- $cause := ternary "--tls-cert-file in extraArguments" "tls.managed: false" (not (empty (include "loadline-adapter.namesCertificate" .))) -}}
{{- fail (printf "serviceMonitor.enabled with %s: Prometheus cannot verify a certificate that each pod creates at its start, or whose CA the chart does not know. Choose another source of the certificate, or %s" $cause $fix) -}}
{{- else -}}
serverName: {{ $fullname }}.{{ $namespace }}.svc
ca:
{{- if include "loadline-adapter.hasGivenCA" . }}
  configMap:
    name: {{ $fullname }}-serving-ca
    key: ca.crt
{{- else if ne (.Values.serviceMonitor.namespace | default $namespace) $namespace }}
{{- fail (printf "serviceMonitor.namespace is not %s, where the Secret with the CA of the adapter is: Prometheus reads it from the namespace of the ServiceMonitor. Remove serviceMonitor.namespace, or %s" $namespace $fix) }}
{{- else }}
  secret:
    name: {{ ternary (include "loadline-adapter.managedSecret" .) (include "loadline-adapter.tlsSecret" .) (eq $source "managed") }}
    key: ca.crt
{{- end }}
{{- end -}}
{{- end -}}
