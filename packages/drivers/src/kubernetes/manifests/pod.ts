import type { Container, EnvVar, PodSpec, SecurityContext, Volume, VolumeMount } from 'kubernetes-types/core/v1.js';
import type { Workload } from '../../workload.ts';
import { distinctPorts, label } from '../names/labels.ts';
import { claimName, rolloutName } from '../names/names.ts';
import { toLivenessProbe, toReadiness } from './probes.ts';
import { lingerSeconds, type ClusterSettings, type ClusterTraits } from './settings.ts';
import { unexpanded } from './unexpanded.ts';
import { pullSecretName, valueKeys } from './values.ts';

/** Name of the container of the workload itself. */
export const mainContainer = 'main';
/** Name of the container that holds the folders of a workload that runs once. */
export const helperContainer = 'helper';

/** Below this limit, container runtimes refuse to start any container. */
const minMemoryMiB = 6;
/** Group that may write to volumes, whichever user a process has. Images use this id for nothing else. */
const volumeGroup = 64_646;

/**
 * Capabilities added back in `baseline`. With them, an image that starts as root can chown its folders, change its user
 * and bind port 80, as on a container engine. The level allows all of them.
 */
const rootCapabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'];

/** Returns the pod of an instance. Pure. */
export function toPodSpec(workload: Workload, settings: ClusterSettings, traits: ClusterTraits): PodSpec {
  const { volumes, mounts } = toVolumes(workload);
  const hasHelper = needsHelper(workload);
  return {
    restartPolicy: workload.runsOnce === true ? 'Never' : 'Always',
    terminationGracePeriodSeconds: workload.terminationGraceSeconds + (lingers(workload) ? lingerSeconds(settings, traits) : 0),
    // The pod gets no environment variables with the addresses of its neighbours, because these change, and no access
    // to the API server.
    enableServiceLinks: false,
    automountServiceAccountToken: false,
    ...(workload.registry && { imagePullSecrets: [{ name: pullSecretName(workload) }] }),
    securityContext: {
      seccompProfile: { type: 'RuntimeDefault' },
      ...(settings.podSecurity === 'restricted' && { runAsNonRoot: true }),
      // With this setting, an image with a user other than root can bind port 80, as on a container engine.
      sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }],
      ...(workload.volumes.length > 0 && { fsGroup: volumeGroup, fsGroupChangePolicy: 'OnRootMismatch' }),
    },
    ...(workload.runsOnce !== true && toPlacement(workload)),
    containers: [toContainer(workload, mounts, { settings, traits }), ...(hasHelper ? [toHelper(workload, settings)] : [])],
    ...(volumes.length > 0 && { volumes }),
  };
}

/** Returns whether a helper must hold the folders that the process of a workload leaves. */
export function needsHelper({ runsOnce, folders = [] }: Workload): boolean {
  return runsOnce === true && folders.length > 0;
}

/** Returns whether several instances have the same volumes. Each volume is on one node at a time. */
export function sharesVolumes({ instances, runsOnce, volumes }: Workload): boolean {
  return runsOnce !== true && instances > 1 && volumes.length > 0;
}

/** Returns whether the workload gets requests that a stop could lose. */
export function lingers({ ports, runsOnce }: Workload): boolean {
  return runsOnce !== true && ports.length > 0;
}

function toContainer(
  workload: Workload,
  mounts: readonly VolumeMount[],
  { settings, traits }: { readonly settings: ClusterSettings; readonly traits: ClusterTraits },
): Container {
  const { entrypoint, arguments: args, ports } = workload;
  const linger = lingers(workload) ? lingerSeconds(settings, traits) : 0;
  return {
    name: mainContainer,
    image: workload.image,
    // A tag can change its meaning. A digest always denotes the same image.
    imagePullPolicy: workload.image.includes('@') ? 'IfNotPresent' : 'Always',
    ...(entrypoint.length > 0 && { command: entrypoint.map(unexpanded) }),
    ...(args.length > 0 && { args: args.map(unexpanded) }),
    ...(workload.environment.length > 0 && { env: toEnvironment(workload) }),
    ...(ports.length > 0 && {
      ports: distinctPorts(ports).map(({ port, transport }) => ({ containerPort: port, protocol: transport })),
    }),
    resources: resources(workload),
    ...toReadiness(workload),
    ...(workload.liveness && { livenessProbe: toLivenessProbe(workload.liveness) }),
    ...(linger > 0 && { lifecycle: { preStop: { sleep: { seconds: linger } } } }),
    securityContext: {
      ...toSecurityContext(settings, workload.readOnlyRootFilesystem === true),
      ...(workload.runsAsAnyUser === true && { runAsUser: helperUser(settings) }),
    },
    ...(mounts.length > 0 && { volumeMounts: [...mounts] }),
  };
}

/**
 * Requests equal limits. An instance then has the resources of its service whatever its neighbours do, and is among the
 * last that a node without memory kills (class Guaranteed).
 */
function resources({ cpuMillicores, memoryMiB }: Workload): Container['resources'] {
  const amounts = {
    ...(cpuMillicores > 0 && { cpu: `${Math.max(cpuMillicores, 10)}m` }),
    memory: `${Math.max(memoryMiB, minMemoryMiB)}Mi`,
  };
  return { requests: amounts, limits: amounts };
}

function toSecurityContext({ podSecurity }: ClusterSettings, readOnlyRootFilesystem: boolean): SecurityContext {
  return {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'], ...(podSecurity === 'baseline' && { add: rootCapabilities }) },
    ...(readOnlyRootFilesystem && { readOnlyRootFilesystem }),
  };
}

// Values come from a secret: Kubernetes does not expand them, and readers of pods cannot see them.
function toEnvironment(workload: Workload): EnvVar[] {
  const name = rolloutName(workload);
  return workload.environment.map((entry, position) => ({
    name: entry.name,
    valueFrom: { secretKeyRef: { name, key: valueKeys.variable(position) } },
  }));
}

interface Mounted {
  readonly volumes: Volume[];
  readonly mounts: VolumeMount[];
}

function toVolumes(workload: Workload): Mounted {
  const { owner, files, folders = [] } = workload;
  const volumes: Volume[] = workload.volumes.map(({ id }, position) => ({
    name: `volume-${position}`,
    persistentVolumeClaim: { claimName: claimName(owner.installation, id) },
  }));
  const mounts: VolumeMount[] = workload.volumes.map(({ mountPath }, position) => ({
    name: `volume-${position}`,
    mountPath,
    // The mount is not the root of a file system. A root has a `lost+found`, which databases take for foreign data.
    subPath: 'data',
  }));
  if (files.length > 0) {
    volumes.push({
      name: 'files',
      secret: {
        secretName: rolloutName(workload),
        defaultMode: 0o444,
        items: files.map((_, position) => ({ key: valueKeys.file(position), path: valueKeys.file(position) })),
      },
    });
    mounts.push(
      ...files.map(({ path }, position) => ({
        name: 'files',
        mountPath: path,
        subPath: valueKeys.file(position),
        readOnly: true,
      })),
    );
  }
  const emptyDir = workload.folderGiB === undefined ? {} : { sizeLimit: `${workload.folderGiB}Gi` };
  volumes.push(...folders.map((_, position) => ({ name: `folder-${position}`, emptyDir })));
  mounts.push(...folderMounts(workload));
  return { volumes, mounts };
}

function folderMounts({ folders = [] }: Workload): VolumeMount[] {
  return folders.map((mountPath, position) => ({ name: `folder-${position}`, mountPath }));
}

function toHelper(workload: Workload, settings: ClusterSettings): Container {
  const amounts = { cpu: '10m', memory: '32Mi' };
  return {
    name: helperContainer,
    image: settings.helperImage,
    imagePullPolicy: 'IfNotPresent',
    command: ['/bin/sh', '-c', 'trap "exit 0" TERM; while :; do sleep 3600 & wait; done'],
    resources: { requests: amounts, limits: amounts },
    securityContext: {
      ...toSecurityContext(settings, true),
      runAsUser: helperUser(settings),
    },
    volumeMounts: folderMounts(workload),
  };
}

// Returns the user of the helper. As root, the helper reads what the process left, whichever user that had. If it must
// not be root, it reads only what everybody may read, or its own files.
function helperUser({ podSecurity }: ClusterSettings): number {
  return podSecurity === 'baseline' ? 0 : 65_534;
}

/**
 * Spreads instances over nodes, if there are several, so that a lost node takes only one instance with it. Instances
 * that share volumes are all placed on one node.
 */
function toPlacement(workload: Workload): Pick<PodSpec, 'affinity' | 'topologySpreadConstraints'> {
  const { owner, rollout } = workload;
  const topologyKey = 'kubernetes.io/hostname';
  const labelSelector = { matchLabels: { [label.service]: owner.service, [label.rollout]: rollout } };
  if (!sharesVolumes(workload)) {
    return { topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector }] };
  }
  // For the first instance, the scheduler accepts any node, because the instance itself has the labels that its
  // affinity requires.
  return { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector }] } } };
}
