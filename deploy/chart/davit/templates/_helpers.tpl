{{/* The name of all objects: davit, unless the release is called otherwise. */}}
{{- define "davit.name" -}}
{{- if contains "davit" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-davit" (.Release.Name | trunc 44 | trimSuffix "-") }}{{ end -}}
{{- end -}}

{{- define "davit.serviceAccount" -}}
{{- default (include "davit.name" .) .Values.serviceAccount.name -}}
{{- end -}}

{{/* Of the role of the whole cluster, where another release may be. */}}
{{- define "davit.clusterRole" -}}
{{- printf "%s-%s" .Release.Namespace (include "davit.name" .) -}}
{{- end -}}

{{- define "davit.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ printf "%s@%s" .repository .digest }}{{ else }}{{ printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "davit.selector" -}}
app.kubernetes.io/name: davit
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "davit.labels" -}}
{{ include "davit.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Pods of the cluster that Davit itself runs on reach its API by its Service. */}}
{{- define "davit.clusterSettings" -}}
{{- $address := printf "http://%s.%s.svc:%v" (include "davit.name" .) .Release.Namespace .Values.service.port -}}
{{- $settings := deepCopy .Values.clusterSettings -}}
{{- range $own := $settings -}}
{{- if and $own.in_cluster (not (hasKey $own "davit_address")) }}{{ $_ := set $own "davit_address" $address }}{{ end -}}
{{- end -}}
{{ $settings | toPrettyJson }}
{{- end -}}

{{/* Of (dict "root" $ "role" "api" "of" .Values.api): everything of a Deployment below its metadata. */}}
{{- define "davit.deployment" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
replicas: {{ .of.replicas }}
revisionHistoryLimit: 5
selector:
  matchLabels:
    {{- include "davit.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
{{- if and (eq .role "worker") (ne $values.backups.accessMode "ReadWriteMany") (not $values.backups.ephemeral) }}
# The volume of backups is on one node at a time: a new pod on another one would wait for it as long as an old pod has it.
strategy:
  type: Recreate
{{- else }}
# A process goes when another one is ready.
strategy:
  type: RollingUpdate
  rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
{{- end }}
template:
  metadata:
    labels:
      {{- include "davit.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
      {{- with $values.podLabels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    annotations:
      # Settings of clusters are read at the start.
      checksum/cluster-settings: {{ include "davit.clusterSettings" $root | sha256sum }}
      {{- with $values.podAnnotations }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  spec:
    serviceAccountName: {{ include "davit.serviceAccount" $root }}
    automountServiceAccountToken: {{ $values.inCluster }}
    enableServiceLinks: false
    {{- with $values.image.pullSecrets }}
    imagePullSecrets: {{ toYaml . | nindent 6 }}
    {{- end }}
    {{- with $values.priorityClassName }}
    priorityClassName: {{ . }}
    {{- end }}
    # The delay, the requests under way and the rest.
    terminationGracePeriodSeconds: {{ add .delay (int (default 15 (index $values.settings "DAVIT_STOP_WITHIN_SECONDS"))) 15 }}
    securityContext:
      runAsNonRoot: true
      runAsUser: 1000
      runAsGroup: 1000
      fsGroup: 1000
      fsGroupChangePolicy: OnRootMismatch
      seccompProfile: { type: RuntimeDefault }
    initContainers:
      # The first pod of a version brings the schema, the others wait for it; those of the version before go on with it.
      - name: migrate
        image: {{ include "davit.image" $root }}
        imagePullPolicy: {{ $values.image.pullPolicy }}
        args: [migrate]
        env:
          {{- include "davit.env" (dict "root" $root "role" .role "delay" .delay) | nindent 10 }}
        resources: {{- toYaml .of.resources | nindent 10 }}
        securityContext: {{- include "davit.securityContext" $root | nindent 10 }}
        volumeMounts: {{- include "davit.mounts" $root | nindent 10 }}
    containers:
      - name: davit
        image: {{ include "davit.image" $root }}
        imagePullPolicy: {{ $values.image.pullPolicy }}
        args: [serve]
        env:
          {{- include "davit.env" (dict "root" $root "role" .role "delay" .delay) | nindent 10 }}
        ports:
          - { name: http, containerPort: 4440, protocol: TCP }
        startupProbe:
          httpGet: { path: /healthz, port: http }
          periodSeconds: 1
          failureThreshold: 120
        readinessProbe:
          httpGet: { path: /readyz, port: http }
          periodSeconds: 5
          timeoutSeconds: 3
          failureThreshold: 2
        livenessProbe:
          httpGet: { path: /healthz, port: http }
          periodSeconds: 10
          timeoutSeconds: 5
          failureThreshold: 6
        resources: {{- toYaml .of.resources | nindent 10 }}
        securityContext: {{- include "davit.securityContext" $root | nindent 10 }}
        volumeMounts:
          {{- include "davit.mounts" $root | nindent 10 }}
          {{- if eq .role "worker" }}
          - { name: backups, mountPath: /backups }
          {{- end }}
    volumes:
      # What a pod keeps here it can do without: sources while they are built, the gateway's sockets.
      - { name: state, emptyDir: {} }
      - { name: tmp, emptyDir: {} }
      - name: clusters
        configMap: { name: {{ include "davit.name" $root }}-clusters }
      {{- if eq .role "worker" }}
      - name: backups
        {{- if $values.backups.claim }}
        persistentVolumeClaim: { claimName: {{ $values.backups.claim }} }
        {{- else if $values.backups.size }}
        persistentVolumeClaim: { claimName: {{ include "davit.name" $root }}-backups }
        {{- else }}
        emptyDir: {}
        {{- end }}
      {{- end }}
    # Best each on another node, and somewhere rather than nowhere.
    topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            {{- include "davit.selector" $root | nindent 12 }}
            app.kubernetes.io/component: {{ .role }}
    {{- with $values.nodeSelector }}
    nodeSelector: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $values.tolerations }}
    tolerations: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $values.affinity }}
    affinity: {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end -}}

{{- define "davit.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "davit.mounts" -}}
- { name: state, mountPath: /var/lib/davit }
- { name: tmp, mountPath: /tmp }
- { name: clusters, mountPath: /etc/davit, readOnly: true }
{{- end -}}

{{- define "davit.env" -}}
{{- $values := .root.Values -}}
- { name: DAVIT_ROLE, value: {{ .role }} }
# There is none in a pod: what is deployed runs on Kubernetes clusters.
- { name: DAVIT_LOCAL_ENGINE, value: 'false' }
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ $values.secret }}, key: database-url } }
- name: DAVIT_SECRET_KEY
  valueFrom: { secretKeyRef: { name: {{ $values.secret }}, key: secret-key } }
- name: DAVIT_BOOTSTRAP_TOKEN
  valueFrom: { secretKeyRef: { name: {{ $values.secret }}, key: bootstrap-token } }
- { name: DAVIT_CLUSTER_SETTINGS, value: /etc/davit/clusters.json }
{{- if eq .role "worker" }}
- { name: DAVIT_BACKUP_FOLDER, value: /backups }
{{- else }}
- { name: DAVIT_STOP_DELAY_SECONDS, value: {{ .delay | quote }} }
{{- end }}
{{- with $values.publicUrl }}
- { name: DAVIT_PUBLIC_URL, value: {{ . | quote }} }
{{- end }}
{{- if $values.trustProxy }}
- { name: DAVIT_TRUST_PROXY, value: 'true' }
{{- end }}
{{- range $name, $value := $values.settings }}
{{- /* Numbers of values are floating point: a million would be 1e+06. */}}
- { name: {{ $name }}, value: {{ ternary (printf "%d" (int64 $value)) (toString $value) (kindIs "float64" $value) | quote }} }
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
