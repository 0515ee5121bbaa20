{{- /* Who may connect, and to where: a dict of the root, and of whether webhooks are served. */}}
{{- define "vsched.connections" -}}
policyTypes:
  - Ingress
  {{- if .root.Values.networkPolicy.egress.enabled }}
  - Egress
  {{- end }}
ingress:
  # Metrics and views, and what kube-scheduler asks.
  - ports: [{port: http, protocol: TCP}]
    {{- with .root.Values.networkPolicy.metricsFrom }}
    from: {{- toYaml . | nindent 6 }}
    {{- end }}
  # Probes come from the node.
  - ports: [{port: health, protocol: TCP}]
  {{- if .webhook }}
  # The API server is rarely a pod, and its address is rarely known.
  - ports: [{port: webhook, protocol: TCP}]
  {{- end }}
{{- if .root.Values.networkPolicy.egress.enabled }}
egress:
  - ports:
      {{- range .root.Values.networkPolicy.egress.apiServerPorts }}
      - {port: {{ . }}, protocol: TCP}
      {{- end }}
  - ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
  {{- with .root.Values.networkPolicy.egress.more }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}
