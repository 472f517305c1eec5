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

{{- define "loadline-adapter.prometheusUrl" -}}
{{- tpl .Values.prometheus.url . }}{{ with .Values.prometheus.port }}:{{ . }}{{ end }}{{ .Values.prometheus.path -}}
{{- end -}}
