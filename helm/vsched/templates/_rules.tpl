{{- /* The groups of alert rules, as Prometheus reads them. */}}
{{- define "vsched.rules" -}}
{{- $series := include "vsched.series" . -}}
{{- $found := list -}}
{{- range $rule := fromYamlArray (tpl (.Files.Get "files/alerts.yaml") (dict "series" $series "vcjobs" (ternary (include "vsched.vcjobsSeries" .) "" (eq (include "vsched.jobsApart" .) "true")) "slow" .Values.prometheusRule.slowSessionSeconds "replicas" .Values.replicas "Template" .Template)) -}}
{{- if not (has $rule.alert $.Values.prometheusRule.disabled) -}}
{{- $_ := set $rule.annotations "runbook_url" (include "vsched.runbook" (dict "url" $.Values.prometheusRule.runbookUrl "alert" $rule.alert)) -}}
{{- $found = append $found $rule -}}
{{- end -}}
{{- end -}}
groups:
  - name: vsched
    rules: {{- toYaml $found | nindent 6 }}
{{- end -}}
