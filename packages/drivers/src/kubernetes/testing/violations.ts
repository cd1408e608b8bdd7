import { Buffer } from 'node:buffer';
import type { Container, PodSpec, Probe, Secret, Service } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';

/*
 * Rules by which an API server refuses objects whose shape is right. The OpenAPI description of Kubernetes does not
 * contain them; they are in its documentation ("Object Names and IDs", "Labels and Selectors", "Annotations", "Resource
 * Management", "Configure Probes", "Volumes", "Secrets") and in that of etcd (the size of a request).
 */

interface SomeObject {
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec?: object;
  readonly data?: Readonly<Record<string, string>>;
}

const dnsLabel = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsLabel1035 = /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const dnsSubdomain = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const qualifiedPart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const quantityForm = /^(\d+(?:\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?$/;
const largestInteger = 2 ** 31 - 1;
const mostAnnotationBytes = 256 * 1024;
const mostSecretBytes = 1024 * 1024;
const mostObjectBytes = 1.5 * 1024 * 1024;
/** Kubernetes appends a dash and the minute of a run to the name of its CronJob. */
const mostCronJobName = 52;
const factors: Readonly<Record<string, number>> = { m: 1e-3, '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** Returns the rules that an object breaks. Empty if an API server accepts it. Pure. */
export function violationsOf(object: SomeObject): string[] {
  const found: string[] = [];
  const { kind = '', metadata = {} } = object;
  const nameForm = kind === 'Service' || kind === 'Namespace' ? dnsLabel1035 : kind === 'Job' ? dnsLabel : dnsSubdomain;
  if (!nameForm.test(metadata.name ?? '')) found.push(`name ${metadata.name}`);
  if (metadata.namespace !== undefined && !dnsLabel.test(metadata.namespace)) found.push(`namespace ${metadata.namespace}`);
  found.push(...ofMetadata(metadata));
  walk(object, '', found);
  const bytes = Buffer.byteLength(JSON.stringify(object));
  if (bytes > mostObjectBytes) found.push(`${bytes} bytes`);
  if (kind === 'CronJob' && (metadata.name ?? '').length > mostCronJobName) found.push('a name too long for its Jobs');
  if (kind === 'Secret') found.push(...ofSecret(object));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its kind says what it is
  if (kind === 'Service') found.push(...ofService(object as Service));
  return found.map((one) => `${kind}: ${one}`);
}

function ofMetadata({ labels = {}, annotations = {} }: ObjectMeta): string[] {
  const found: string[] = [];
  for (const [key, value] of Object.entries(labels)) {
    if (!isQualified(key)) found.push(`label ${key}`);
    if (value !== '' && !qualifiedPart.test(value)) found.push(`value ${value} of label ${key}`);
  }
  const bytes = Object.entries(annotations).reduce((sum, entry) => sum + Buffer.byteLength(entry.join('')), 0);
  if (bytes > mostAnnotationBytes) found.push(`${bytes} bytes of annotations`);
  for (const key of Object.keys(annotations)) if (!isQualified(key.toLowerCase())) found.push(`annotation ${key}`);
  return found;
}

function isQualified(key: string): boolean {
  const parts = key.split('/');
  const [prefix, name] = parts.length === 1 ? [null, parts[0]] : parts;
  return parts.length <= 2 && qualifiedPart.test(name ?? '') && (prefix === null || dnsSubdomain.test(prefix ?? ''));
}

/** Checks all numbers and quantities, and each pod, wherever they are. */
function walk(value: unknown, path: string, found: string[]): void {
  if (typeof value === 'number' && (!Number.isInteger(value) || Math.abs(value) > largestInteger))
    found.push(`${path}: ${value}`);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const at = `${path}/${name}`;
    if (/\/(?:requests|limits)\/[a-z]+$/.test(at) || name === 'sizeLimit') {
      if (!(quantityOf(String(member)) > 0)) found.push(`${at}: ${member}`);
    }
    if (name === 'template' && path.endsWith('/spec')) found.push(...ofMetadata(member.metadata ?? {}), ...ofPod(member.spec));
    walk(member, at, found);
  }
}

function quantityOf(text: string): number {
  const match = quantityForm.exec(text);
  const factor = factors[match?.[2] ?? ''];
  if (match === null || factor === undefined) return Number.NaN;
  const amount = Number(match[1]) * factor;
  return amount <= 2 ** 63 ? amount : Number.NaN;
}

function ofPod(spec: PodSpec): string[] {
  const found: string[] = [];
  const volumes = (spec.volumes ?? []).map(({ name }) => name);
  if (!isUnique(volumes)) found.push('two volumes of one name');
  for (const name of volumes) if (!dnsLabel.test(name)) found.push(`volume ${name}`);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) found.push('terminationGracePeriodSeconds');
  for (const container of [...(spec.initContainers ?? []), ...spec.containers])
    found.push(...ofContainer(container, volumes, spec));
  return found;
}

function ofContainer(
  container: Container,
  volumes: readonly string[],
  { terminationGracePeriodSeconds = 30 }: PodSpec,
): string[] {
  const { name, image = '', env = [], ports = [], volumeMounts = [], resources, lifecycle } = container;
  const found: string[] = [];
  if (!dnsLabel.test(name)) found.push(`container ${name}`);
  if (image === '' || image.trim() !== image) found.push(`image ${image}`);
  for (const one of env) {
    if (!/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(one.name)) found.push(`variable ${one.name}`);
    if (!isKey(one.valueFrom?.secretKeyRef?.key ?? '')) found.push(`key of variable ${one.name}`);
  }
  if (!isUnique(env.map((one) => one.name))) found.push('two variables of one name');
  if (!isUnique(ports.map(({ containerPort, protocol }) => `${containerPort}/${protocol}`))) found.push('two equal ports');
  for (const { containerPort } of ports) if (!isPort(containerPort)) found.push(`port ${containerPort}`);
  const paths = volumeMounts.map(({ mountPath }) => mountPath);
  if (!isUnique(paths)) found.push('two mounts at one path');
  for (const mount of volumeMounts) {
    if (mount.mountPath === '' || mount.mountPath.includes(':')) found.push(`mount at ${mount.mountPath}`);
    if (!volumes.includes(mount.name)) found.push(`mount of the unknown volume ${mount.name}`);
    if (mount.subPath?.startsWith('/') === true || mount.subPath?.split('/').includes('..') === true) found.push('subPath');
  }
  for (const [resource, amount] of Object.entries(resources?.requests ?? {})) {
    const limit = resources?.limits?.[resource];
    if (limit !== undefined && quantityOf(amount) > quantityOf(limit)) found.push(`request of ${resource} above its limit`);
  }
  found.push(...ofProbe('readinessProbe', container.readinessProbe, false));
  found.push(...ofProbe('livenessProbe', container.livenessProbe, true));
  found.push(...ofProbe('startupProbe', container.startupProbe, true));
  const sleep: unknown = Reflect.get(lifecycle?.preStop ?? {}, 'sleep');
  const seconds = Number(Reflect.get(typeof sleep === 'object' && sleep !== null ? sleep : { seconds: 1 }, 'seconds'));
  if (!(seconds > 0 && seconds <= terminationGracePeriodSeconds)) found.push(`preStop sleeps ${seconds} s`);
  return found;
}

function ofProbe(name: string, probe: Probe | undefined, isOneSuccess: boolean): string[] {
  if (probe === undefined) return [];
  const { tcpSocket, httpGet, exec, periodSeconds = 1, timeoutSeconds = 1, successThreshold = 1, failureThreshold = 1 } = probe;
  const grpc: unknown = Reflect.get(probe, 'grpc');
  const found: string[] = [];
  if ([tcpSocket, httpGet, exec, grpc].filter((one) => one !== undefined).length !== 1) found.push('handlers');
  if (Math.min(periodSeconds, timeoutSeconds, successThreshold, failureThreshold) < 1) found.push('a number below 1');
  if ((probe.initialDelaySeconds ?? 0) < 0) found.push('initialDelaySeconds');
  if (isOneSuccess && successThreshold !== 1) found.push('successThreshold');
  const port = tcpSocket?.port ?? httpGet?.port;
  if (port !== undefined && !isPort(port)) found.push(`port ${port}`);
  if (httpGet !== undefined && (httpGet.path ?? '') === '') found.push('path');
  if (exec !== undefined && (exec.command ?? []).length === 0) found.push('command');
  return found.map((one) => `${name}: ${one}`);
}

function ofSecret({ data = {} }: Pick<Secret, 'data'>): string[] {
  const bytes = Object.values(data).reduce((sum, value) => sum + Buffer.from(value, 'base64').length, 0);
  const keys = Object.keys(data).filter((key) => !isKey(key));
  return [...(bytes > mostSecretBytes ? [`${bytes} bytes of data`] : []), ...keys.map((key) => `key ${key}`)];
}

function ofService({ spec }: Service): string[] {
  const ports = spec?.ports ?? [];
  const found = ports
    .filter(({ port, name = '' }) => !isPort(port) || !dnsLabel.test(name))
    .map(({ port, name }) => `port ${port} ${name}`);
  const names = ports.map(({ name }) => name);
  const places = ports.map(({ port, protocol }) => `${port}/${protocol}`);
  return isUnique(names) && isUnique(places) ? found : [...found, 'two equal ports'];
}

// Lists with keys, such as variables by name, may have each key once: server-side apply refuses others.
function isUnique(keys: readonly unknown[]): boolean {
  return new Set(keys).size === keys.length;
}

function isPort(port: unknown): boolean {
  return typeof port === 'number' && port >= 1 && port <= 65_535;
}

function isKey(key: string): boolean {
  return /^[-._a-zA-Z0-9]{1,253}$/.test(key);
}
