import { DriverError } from '../errors.ts';
import { refuseImpossibleProcess } from '../shared/process-size.ts';
import { refuseUnusablePaths } from '../shared/workload-paths.ts';
import type { Workload, WorkloadFile } from '../workload.ts';
import { instanceLabels, label, transportOf } from './labels.ts';
import type { Labels } from '../shared/labels.ts';
import { networkName, volumeName } from './names.ts';

export interface Ulimit {
  readonly Name: string;
  readonly Soft: number;
  readonly Hard: number;
}

/**
 * Isolation features that this host supports. A feature is assumed to work until the engine refuses it; then it is
 * disabled and the result remembered.
 */
export interface HostTraits {
  /**
   * Thousandths of a processor of the engine's machine. This is the upper bound, because Docker refuses higher limits.
   */
  readonly cpuMillicores: number;
  /** Whether the engine has an init program that it can run as process 1 of containers. */
  readonly initProcess: boolean;
  readonly cpuLimit: boolean;
  readonly memoryLimit: boolean;
  /** Whether swap can be limited. If not, a container may use swap beyond its memory limit. */
  readonly swapLimit: boolean;
  readonly pidsLimit: boolean;
  readonly sysctls: boolean;
  /** Resource limits (ulimits) to set, or null for the engine's defaults. */
  readonly ulimits: readonly Ulimit[] | null;
  /** Address on which every port is published because containers are not reachable directly; null if they are. */
  readonly publishOn: string | null;
  /**
   * Address of this machine on which public UDP ports are published. It equals the address that the gateway listens on.
   */
  readonly publicAddress: string;
}

export const fullTraits: HostTraits = {
  cpuMillicores: Number.POSITIVE_INFINITY,
  initProcess: true,
  cpuLimit: true,
  memoryLimit: true,
  swapLimit: true,
  pidsLimit: true,
  sysctls: true,
  ulimits: null,
  publishOn: null,
  publicAddress: '127.0.0.1',
};

interface PortBinding {
  readonly HostIp: string;
  readonly HostPort: string;
}

/** Body of `POST /containers/create` (Docker Engine API 1.41), limited to the fields that Davit uses. */
export interface ContainerBody {
  readonly Image: string;
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env: readonly string[];
  readonly Labels: Labels;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly StopTimeout: number;
  readonly HostConfig: {
    readonly Init?: true;
    readonly NetworkMode: string;
    readonly Mounts: readonly { readonly Type: 'volume'; readonly Source: string; readonly Target: string }[];
    readonly NanoCpus?: number;
    readonly Memory?: number;
    readonly MemorySwap?: number;
    readonly PidsLimit?: number;
    readonly Ulimits?: readonly Ulimit[];
    readonly Sysctls?: Readonly<Record<string, string>>;
    readonly ReadonlyRootfs?: boolean;
    readonly SecurityOpt: readonly string[];
    readonly CapDrop: readonly string[];
    readonly PortBindings: Readonly<Record<string, readonly PortBinding[]>>;
    readonly RestartPolicy: { readonly Name: 'no' };
    readonly LogConfig: { readonly Type: 'json-file'; readonly Config: Readonly<Record<string, string>> };
  };
  readonly NetworkingConfig: { readonly EndpointsConfig: Readonly<Record<string, { readonly Aliases: readonly string[] }>> };
}

const mebibyte = 1024 * 1024;
/** Smallest memory limit in MiB with which Docker creates a container. */
const minMemoryMiB = 6;
/**
 * Limit on the processes and threads of an instance or a build. It is enough for a JVM or a pool of workers, and too
 * few for a fork bomb to fill the machine's process table.
 */
export const pidsLimit = 4096;

/**
 * Capabilities removed from the engines' default set, which lets images such as nginx or postgres chown their folders,
 * change their user and bind port 80 as root. The removed capabilities:
 * - MKNOD creates device nodes.
 * - NET_RAW forges packets to neighbours on the bridge.
 * - AUDIT_WRITE writes the host's audit log.
 * - SETFCAP and SETPCAP give files or children capabilities; with no-new-privileges they are useless.
 *
 * They are dropped one by one instead of dropping ALL and adding some back: Podman makes *added* capabilities effective
 * for users other than root too.
 */
const droppedCapabilities = ['AUDIT_WRITE', 'MKNOD', 'NET_RAW', 'SETFCAP', 'SETPCAP'];

/**
 * Docker's own default. It is set explicitly so that an image with a user other than root can bind port 80 on Podman as
 * well.
 */
const sysctls = { 'net.ipv4.ip_unprivileged_port_start': '0' };

// An empty entrypoint also replaces the image's own one, so that without arguments there is no program at all.
function refuseEmptyCommand({ entrypoint, arguments: args }: Workload): void {
  if (entrypoint.length === 0 || args.length > 0 || entrypoint.some((text) => text !== '')) return;
  throw new DriverError({
    cause: 'START_FAILED',
    message: 'The entrypoint is empty and there are no arguments, so there is no program to start.',
    hint: 'Remove the entrypoint, or name a program in it.',
  });
}

/**
 * Returns the request body that creates one instance. Pure. Fails with START_FAILED if no process can receive the
 * requested configuration.
 *
 * - `hasOwnInit`: whether the instance's process must be process 1 itself.
 * - `isAddressed`: whether the names of the service lead to its address, so the instance has none of them.
 */
export function toContainerBody(
  workload: Workload,
  index: number,
  traits: HostTraits,
  { hasOwnInit = false, isAddressed = false }: { readonly hasOwnInit?: boolean; readonly isAddressed?: boolean } = {},
): ContainerBody {
  const network = networkName(workload.owner);
  refuseEmptyCommand(workload);
  refuseUnwritable(workload);
  refuseUnusablePaths(workload);
  refuseImpossibleProcess(workload);
  return {
    Image: workload.image,
    ...(workload.entrypoint.length > 0 && { Entrypoint: workload.entrypoint }),
    ...(workload.arguments.length > 0 && { Cmd: workload.arguments }),
    Env: toEnvironment(workload),
    Labels: { ...instanceLabels(workload, index), ...(isAddressed && { [label.addressed]: 'true' }) },
    ExposedPorts: Object.fromEntries(workload.ports.map((port) => [`${port.internalPort}/${transportOf(port)}`, {}])),
    StopTimeout: workload.terminationGraceSeconds,
    HostConfig: {
      // The init process reaps orphaned processes. It also lets SIGTERM end a process that does not handle the signal,
      // because the kernel exempts process 1 from the default action.
      ...(traits.initProcess && !hasOwnInit && { Init: true as const }),
      NetworkMode: network,
      Mounts: workload.volumes.map((volume) => ({
        Type: 'volume',
        Source: volumeName(workload.owner.installation, volume.id),
        Target: volume.mountPath,
      })),
      ...limits(workload, traits),
      ...(workload.readOnlyRootFilesystem === true && { ReadonlyRootfs: true }),
      SecurityOpt: ['no-new-privileges'],
      CapDrop: droppedCapabilities,
      PortBindings: toPortBindings(workload, index, traits),
      // The policy is not `unless-stopped` initially: the engine would restart a failing instance forever, without
      // Davit seeing it.
      RestartPolicy: { Name: 'no' },
      // Davit stores log lines itself; the engine's file only has to bridge a restart of Davit. The driver is named
      // although it is the default, because an operator's default may be journald, and Podman cannot follow a journald
      // log without systemd.
      LogConfig: { Type: 'json-file', Config: { 'max-size': '20m' } },
    },
    NetworkingConfig: { EndpointsConfig: { [network]: { Aliases: isAddressed ? [] : [...new Set(workload.hostnames)] } } },
  };
}

/**
 * Fails with START_FAILED if the workload has files but a read-only root filesystem: engines refuse to write files into
 * such a container.
 */
function refuseUnwritable({ readOnlyRootFilesystem, files }: Workload): void {
  if (readOnlyRootFilesystem !== true || files.length === 0) return;
  throw new DriverError({
    cause: 'START_FAILED',
    message: `The file ${files[0]?.path} cannot be written, as security.read_only_root_filesystem is true.`,
    hint: 'Use variables of type VALUE instead of FILE, or set security.read_only_root_filesystem to false.',
  });
}

function limits(workload: Workload, traits: HostTraits): Partial<ContainerBody['HostConfig']> {
  const memory = Math.max(workload.memoryMiB, minMemoryMiB) * mebibyte;
  const cpu = Math.min(workload.cpuMillicores, traits.cpuMillicores);
  return {
    ...(traits.cpuLimit && cpu > 0 && { NanoCpus: Math.max(cpu, 10) * 1_000_000 }),
    ...(traits.memoryLimit && { Memory: memory }),
    // MemorySwap is memory plus swap. Equal values mean no swap, so that exceeding the limit fails instead of slowing
    // the machine.
    ...(traits.memoryLimit && traits.swapLimit && { MemorySwap: memory }),
    ...(traits.pidsLimit && { PidsLimit: pidsLimit }),
    ...(traits.ulimits && { Ulimits: traits.ulimits }),
    ...(traits.sysctls && { Sysctls: sysctls }),
  };
}

function toEnvironment(workload: Workload): string[] {
  return workload.environment.map(({ name, value }) => `${name}=${value.reveal()}`);
}

function toPortBindings(workload: Workload, index: number, traits: HostTraits): Record<string, PortBinding[]> {
  const bindings: Record<string, PortBinding[]> = {};
  for (const port of workload.ports) {
    const key = `${port.internalPort}/${transportOf(port)}`;
    const published = bindings[key] ?? [];
    if (traits.publishOn !== null && port.protocol !== 'UDP') {
      if (published.length === 0) published.push({ HostIp: traits.publishOn, HostPort: '' });
    }
    // A host port can be bound only once: the first instance binds it, and the others serve only the environment's
    // network.
    if (port.hostPort !== undefined && index === 0) published.push({ HostIp: hostIp(traits), HostPort: String(port.hostPort) });
    if (published.length > 0) bindings[key] = published;
  }
  return bindings;
}

/**
 * Returns the host address for a port binding. For the gateway, `::` means all of IPv4 and IPv6. For engines, `::`
 * means IPv6 only, and the empty string means both.
 */
function hostIp({ publicAddress }: HostTraits): string {
  return publicAddress === '::' ? '' : publicAddress;
}

/** Content of a file variable with its mode: readable by every user, writable by none. */
export interface ArchiveEntry {
  readonly name: string;
  readonly mode: number;
  readonly content: WorkloadFile['content'];
}

/** Returns the files as entries of an archive that is unpacked at `/`. The engine creates missing parent folders. */
export function toArchiveEntries(files: readonly WorkloadFile[]): ArchiveEntry[] {
  return files.map((file) => ({ name: file.path.replace(/^\/+/, ''), mode: 0o444, content: file.content }));
}
