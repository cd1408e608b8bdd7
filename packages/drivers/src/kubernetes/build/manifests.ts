import type { Job } from 'kubernetes-types/batch/v1.js';
import type { Container, Namespace, PodSpec, SecurityContext } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { ClusterBuildRequest } from '../../image-builder.ts';
import { helperContainer, mainContainer } from '../manifests/pod.ts';
import type { BuildIsolation, BuildSettings } from '../manifests/settings.ts';
import { label, type Labels } from '../names/labels.ts';
import { buildNamespaceName } from '../names/names.ts';
import { daemonConfiguration } from './configuration.ts';
import { buildLabels, place } from './place.ts';

/*
 * What builds one image: a Job of one pod with two containers. The daemon runs the commands of the Dockerfile, which are anybody's; the
 * client has the repository's files and what may write to the registry. They share a socket and nothing else, processes included.
 */

/** Of BuildKit's makers. */
const images: Readonly<Record<BuildIsolation, string>> = {
  rootless: 'docker.io/moby/buildkit:v0.32.2-rootless',
  user_namespace: 'docker.io/moby/buildkit:v0.32.2',
  privileged: 'docker.io/moby/buildkit:v0.32.2',
};

const defaultTimeoutSeconds = 3_600;
/** After its time, and after its end: for whoever waits for it to end it himself. */
const marginSeconds = 60;
const clientMemory = '256Mi';

export function builderImage({ image, isolation }: BuildSettings): string {
  return image ?? images[isolation];
}

/** The namespace of all builds. What runs there needs more than `baseline` allows; no tenant's workload is ever in it. Pure. */
export function toBuildNamespace(installation: string): Namespace {
  const labels = { ...sharedLabels(installation), 'pod-security.kubernetes.io/enforce': 'privileged' };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: buildNamespaceName(installation), labels } };
}

/**
 * Nobody connects to a build. It may connect to anything but link-local addresses, where clouds hand out the credentials of the node; names
 * are asked for there too in some clusters. Pure.
 */
export function toBuildPolicy(installation: string): NetworkPolicy {
  const dns = [53].flatMap((port) => [
    { protocol: 'UDP' as const, port },
    { protocol: 'TCP' as const, port },
  ]);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'builds', namespace: buildNamespaceName(installation), labels: sharedLabels(installation) },
    spec: {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [
        { ports: dns },
        {
          to: [
            { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } },
            { ipBlock: { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::254/128'] } },
            // Some network plugins do not count pods among addresses.
            { namespaceSelector: {} },
          ],
        },
      ],
    },
  };
}

/** The Job of one attempt. It ends, and goes, by itself where nobody is left to end it. Pure. */
export function toBuildJob(request: ClusterBuildRequest, settings: BuildSettings, name: string): Job {
  const labels = { ...buildLabels(request), [label.instance]: name };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: buildNamespaceName(request.owner.installation), labels },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: (request.timeoutSeconds ?? defaultTimeoutSeconds) + marginSeconds,
      ttlSecondsAfterFinished: marginSeconds,
      template: { metadata: { labels }, spec: toPod(request, settings) },
    },
  };
}

function toPod(request: ClusterBuildRequest, settings: BuildSettings): PodSpec {
  const sizeLimit = `${settings.diskGiB}Gi`;
  return {
    restartPolicy: 'Never',
    // What a build has is worth nothing once it is to end.
    terminationGracePeriodSeconds: 1,
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    ...(settings.isolation === 'user_namespace' && { hostUsers: false }),
    containers: [toDaemon(request, settings), toClient(settings)],
    volumes: [
      { name: 'socket', emptyDir: {} },
      { name: 'context', emptyDir: { sizeLimit } },
      { name: 'own', emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
      { name: 'state', emptyDir: { sizeLimit } },
    ],
  };
}

function toDaemon(request: ClusterBuildRequest, settings: BuildSettings): Container {
  const { isolation } = settings;
  const isRootless = isolation === 'rootless';
  const start = `printf '%s' "$CONFIGURATION" >/tmp/buildkitd.toml && exec "$@"`;
  const daemon = ['buildkitd', '--config', '/tmp/buildkitd.toml', '--addr', `unix://${place.socket}`];
  const memory = `${request.memoryMiB}Mi`;
  return {
    name: mainContainer,
    image: builderImage(settings),
    imagePullPolicy: 'IfNotPresent',
    command: ['/bin/sh', '-c', start, 'buildkitd', ...(isRootless ? ['rootlesskit'] : []), ...daemon],
    env: [{ name: 'CONFIGURATION', value: daemonConfiguration(request, settings) }],
    resources: {
      // Memory that is not there kills; of processors a build takes what is free.
      requests: { cpu: `${Math.ceil(request.cpuMillicores / 4)}m`, memory },
      limits: { cpu: `${request.cpuMillicores}m`, memory },
    },
    securityContext: daemonSecurity[isolation],
    volumeMounts: [
      { name: 'socket', mountPath: '/davit/socket' },
      { name: 'state', mountPath: isRootless ? '/home/user/.local/share/buildkit' : '/var/lib/buildkit' },
    ],
  };
}

const daemonSecurity: Readonly<Record<BuildIsolation, SecurityContext>> = {
  rootless: {
    runAsUser: 1000,
    runAsGroup: 1000,
    runAsNonRoot: true,
    // `newuidmap` is a program that becomes root, to give the user namespace its ids.
    allowPrivilegeEscalation: true,
    capabilities: { drop: ['ALL'], add: ['SETGID', 'SETUID'] },
    // The usual profiles forbid to make namespaces and to mount in them.
    seccompProfile: { type: 'Unconfined' },
    appArmorProfile: { type: 'Unconfined' },
  },
  // In a user namespace this is privileged in that namespace alone.
  user_namespace: { privileged: true, runAsUser: 0 },
  privileged: { privileged: true, runAsUser: 0 },
};

function toClient(settings: BuildSettings): Container {
  const user = settings.isolation === 'rootless' ? 1000 : 0;
  return {
    name: helperContainer,
    image: builderImage(settings),
    imagePullPolicy: 'IfNotPresent',
    command: ['/bin/sh', '-c', 'trap "exit 0" TERM; while :; do sleep 3600 & wait; done'],
    env: [
      { name: 'BUILDKIT_HOST', value: `unix://${place.socket}` },
      { name: 'DOCKER_CONFIG', value: place.own },
      { name: 'HOME', value: place.own },
      { name: 'TMPDIR', value: place.own },
    ],
    resources: { requests: { cpu: '50m', memory: clientMemory }, limits: { cpu: '1', memory: clientMemory } },
    securityContext: {
      runAsUser: user,
      runAsGroup: user,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
    volumeMounts: [
      { name: 'socket', mountPath: '/davit/socket' },
      { name: 'context', mountPath: place.context },
      { name: 'own', mountPath: place.own },
    ],
  };
}

function sharedLabels(installation: string): Labels {
  return { 'app.kubernetes.io/managed-by': 'davit', [label.installation]: installation, [label.object]: 'build' };
}
