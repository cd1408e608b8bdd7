import { execFileSync, spawnSync } from 'node:child_process';
import { createReadStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestRegistry } from '../../packages/testkit/src/registry.ts';
import { startTestSite } from '../../packages/testkit/src/site.ts';

/** The Helm program that packages and deploys charts. */
export const helm = process.env['DAVIT_HELM'] ?? 'helm';

/** Returns why no charts can be tested; null if they can. */
export function missingHelm(): string | null {
  const { status, stdout } = spawnSync(helm, ['version', '--template', '{{.Version}}'], { encoding: 'utf8' });
  return status === 0 && stdout.startsWith('v4.') ? null : 'there is no Helm 4 (DAVIT_HELM)';
}

const web = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
spec:
  {{- if .Values.replicas }}
  replicas: {{ .Values.replicas }}
  {{- end }}
  selector:
    matchLabels: {app: {{ .Release.Name }}-web}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}-web}
      annotations: {values: {{ .Values | toJson | sha256sum | quote }}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: web
        image: {{ .Values.image }}
        command: [/bin/sh, -c]
        args: [{{ .Values.script | quote }}]
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
        # Without a subPath the page of pods that run would change with the Secret.
        volumeMounts: [{name: www, mountPath: /www/index.html, subPath: index.html}]
      volumes:
      - name: www
        secret: {secretName: {{ .Release.Name }}-www}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}-www
stringData:
  index.html: {{ .Values.page | toJson | quote }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-web
spec:
  selector: {app: {{ .Release.Name }}-web}
  ports: [{name: http, port: 80, targetPort: 8080}]
`;

const role = `{{- if .Values.reader }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Release.Name }}-reader
rules: [{apiGroups: [""], resources: [nodes], verbs: [list]}]
{{- end }}
`;

const store = `{{- if .Values.store }}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .Release.Name }}-store
spec:
  serviceName: {{ .Release.Name }}-web
  selector:
    matchLabels: {app: {{ .Release.Name }}-store}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}-store}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: store
        image: {{ .Values.image }}
        command: [/bin/sh, -c, "trap 'exit 0' TERM; sleep 100000 & wait"]
        volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
{{- end }}
`;

const spy = `{{- if .Values.spy }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-spied
data:
  secrets: {{ len ((lookup "v1" "Secret" "kube-system" "").items | default list) | quote }}
{{- end }}
`;

/** Returns the files of a chart whose page shows its values, with one file for each source of values. */
export const chartFiles = (version: string): Record<string, string> => ({
  'Chart.yaml': `apiVersion: v2\nname: web\nversion: ${version}\n`,
  'values.yaml': `page: {chart: ${version}, git: default, raw: default, set: default, string: default, json: default}
script: "echo serving; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait"
image: none
replicas: null
`,
  'templates/web.yaml': web,
  'templates/role.yaml': role,
  'templates/store.yaml': store,
  'templates/spy.yaml': spy,
});

export interface ChartRepository {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Pushes a version of the chart into a container registry on loopback, as a publisher of charts does. */
  push(version: string, registry: TestRegistry): void;
  close(): Promise<void>;
}

/**
 * Starts a Helm repository with these versions of the chart, on loopback and protected by a password.
 * `isOpen`: the repository requires no password.
 * `host`: the host of the repository if it is not loopback.
 */
export async function startChartRepository(
  versions: readonly string[],
  { isOpen = false, host }: { readonly isOpen?: boolean; readonly host?: string } = {},
): Promise<ChartRepository> {
  const folder = mkdtempSync(join(tmpdir(), 'davit-charts-'));
  for (const version of versions) {
    const source = join(folder, `source-${version}`);
    for (const [path, text] of Object.entries(chartFiles(version))) {
      mkdirSync(dirname(join(source, path)), { recursive: true });
      writeFileSync(join(source, path), text);
    }
    execFileSync(helm, ['package', source, '--destination', folder], { stdio: 'pipe' });
  }
  execFileSync(helm, ['repo', 'index', folder], { stdio: 'pipe' });
  const [username, password] = ['charts', 'password-of-charts'];
  const wanted = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const site = await startTestSite((request, response) => {
    if (!isOpen && request.headers.authorization !== wanted) {
      response.writeHead(401).end();
      return;
    }
    const file = createReadStream(join(folder, (request.url ?? '').replaceAll('..', '')));
    file.once('error', () => response.writeHead(404).end());
    file.pipe(response);
  }, host);
  return {
    url: site.url,
    username,
    password,
    push: (version, registry) => {
      const location = `${registry.url.replace('http:', 'oci:')}/charts`;
      const access = ['--plain-http', '--username', registry.username, '--password', registry.password];
      execFileSync(helm, ['push', join(folder, `web-${version}.tgz`), location, ...access], { stdio: 'pipe' });
    },
    close: async () => {
      await site.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
