{{/* Source of the serving certificate: certManager, inline, existing, generated or self-signed. */}}
{{- define "loadline-adapter.tlsSource" -}}
{{- $chosen := list -}}
{{- if .Values.certManager.enabled }}{{ $chosen = append $chosen "certManager" }}{{ end -}}
{{- if .Values.tls.enable }}{{ $chosen = append $chosen "inline" }}{{ end -}}
{{- if .Values.tls.existingSecret }}{{ $chosen = append $chosen "existing" }}{{ end -}}
{{- if .Values.tls.generate }}{{ $chosen = append $chosen "generated" }}{{ end -}}
{{- if gt (len $chosen) 1 -}}
{{- fail "choose only one source of the serving certificate: certManager.enabled, tls.enable, tls.existingSecret or tls.generate" -}}
{{- end -}}
{{- first $chosen | default "self-signed" -}}
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
{{- if eq $.api (ternary "custom" "external" (hasKey . "describes")) }}{{ $fed = true }}{{ end -}}
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
