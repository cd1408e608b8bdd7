import type { Job } from 'kubernetes-types/batch/v1.js';
import type { Container, Namespace, PodSpec, SecurityContext } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { ClusterBuildRequest } from '../../image-builder.ts';
import { helperContainer, mainContainer } from '../manifests/pod.ts';
import type { BuildIsolation, BuildSettings } from '../manifests/settings.ts';
import { label } from '../names/labels.ts';
import type { Labels } from '../../shared/labels.ts';
import { buildNamespaceName } from '../names/names.ts';
import { daemonConfiguration } from './configuration.ts';
import { buildLabels, ids } from './paths.ts';

/*
 * The objects that build one image: a Job of one pod with two containers. The daemon runs the commands of the
 * Dockerfile, which are not trusted. The client has the repository's files and the credentials that may write to the
 * registry. The containers share a socket and nothing else, not even their processes.
 */

/** Images published by the makers of BuildKit. */
const images: Readonly<Record<BuildIsolation, string>> = {
  rootless: 'docker.io/moby/buildkit:v0.32.2-rootless',
  user_namespace: 'docker.io/moby/buildkit:v0.32.2',
  privileged: 'docker.io/moby/buildkit:v0.32.2',
};

const defaultTimeoutSeconds = 3_600;
/**
 * Seconds that a build may exist beyond its time limit, and beyond its end, so that a waiting caller can end it itself.
 */
const marginSeconds = 60;
const clientMemory = '256Mi';

export function builderImage({ image, isolation }: BuildSettings): string {
  return image ?? images[isolation];
}

/**
 * Returns the namespace of all builds. Builds need more than `baseline` allows. No workload of a tenant ever runs in
 * this namespace. Pure.
 */
export function toBuildNamespace(installation: string): Namespace {
  const labels = { ...sharedLabels(installation), 'pod-security.kubernetes.io/enforce': 'privileged' };
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: buildNamespaceName(installation), labels } };
}

/**
 * Returns the network policy of builds. Nothing may connect to a build. A build may connect to any address except
 * link-local ones, where clouds serve the credentials of the node. DNS is allowed everywhere, because some clusters
 * serve it at a link-local address. Pure.
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
            // Some network plugins do not apply rules for addresses to pods.
            { namespaceSelector: {} },
          ],
        },
      ],
    },
  };
}

/** Returns the Job of one attempt. The Job ends and is deleted by itself if no process is left to end it. Pure. */
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
    // The state of a build is worthless once the build is ended.
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
  const daemon = ['buildkitd', '--config', '/tmp/buildkitd.toml', '--addr', `unix://${ids.socket}`];
  const memory = `${request.memoryMiB}Mi`;
  return {
    name: mainContainer,
    image: builderImage(settings),
    imagePullPolicy: 'IfNotPresent',
    command: ['/bin/sh', '-c', start, 'buildkitd', ...(isRootless ? ['rootlesskit'] : []), ...daemon],
    env: [{ name: 'CONFIGURATION', value: daemonConfiguration(request, settings) }],
    resources: {
      // A lack of memory kills processes. A build uses whatever processors are free.
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
    // `newuidmap` becomes root to set the ids of the user namespace.
    allowPrivilegeEscalation: true,
    capabilities: { drop: ['ALL'], add: ['SETGID', 'SETUID'] },
    // The usual profiles forbid creating namespaces and mounting in them.
    seccompProfile: { type: 'Unconfined' },
    appArmorProfile: { type: 'Unconfined' },
  },
  // In a user namespace, this container is privileged only within that namespace.
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
      { name: 'BUILDKIT_HOST', value: `unix://${ids.socket}` },
      { name: 'DOCKER_CONFIG', value: ids.own },
      { name: 'HOME', value: ids.own },
      { name: 'TMPDIR', value: ids.own },
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
      { name: 'context', mountPath: ids.context },
      { name: 'own', mountPath: ids.own },
    ],
  };
}

function sharedLabels(installation: string): Labels {
  return { 'app.kubernetes.io/managed-by': 'davit', [label.installation]: installation, [label.object]: 'build' };
}
