import { DriverError } from '../errors.ts';
import type { Workload, WorkloadFile } from '../workload.ts';
import { instanceLabels, transportOf, type Labels } from './labels.ts';
import { networkName, volumeName } from './names.ts';

export interface Ulimit {
  readonly Name: string;
  readonly Soft: number;
  readonly Hard: number;
}

/** How much of a container's isolation this host takes. Found out by being refused; then lowered and remembered. */
export interface HostTraits {
  /** Processors of the engine's machine; asking for more is refused by Docker, so it is the upper bound. */
  readonly cpuMillicores: number;
  /** Whether the engine has a program that it can run as process 1 of containers. */
  readonly initProcess: boolean;
  readonly cpuLimit: boolean;
  readonly memoryLimit: boolean;
  /** Whether swap can be limited. Without it a container may use swap beyond its memory. */
  readonly swapLimit: boolean;
  readonly pidsLimit: boolean;
  readonly sysctls: boolean;
  /** Null: the engine's defaults. */
  readonly ulimits: readonly Ulimit[] | null;
  /** Address on which every port is published because containers are not reached directly; null: they are. */
  readonly publishOn: string | null;
  /** Address of this machine on which public UDP ports answer: as for all else, what the gateway listens on. */
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

/** Body of `POST /containers/create` (Docker Engine API 1.41), as far as Davit uses it. */
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
/** Below this Docker refuses to create a container. */
const leastMemoryMiB = 6;
/** Processes and threads of an instance or a build: enough for a JVM or a pool of workers, too few for a fork bomb to take the machine's table. */
export const pidsLimit = 4096;

/**
 * Taken from the engines' default set, which lets images such as nginx or postgres chown their folders, change their user and
 * bind port 80 as root: MKNOD (makes device nodes), NET_RAW (forges packets to neighbours of the bridge), AUDIT_WRITE (writes
 * the host's audit log), SETFCAP and SETPCAP (give files or children capabilities; no-new-privileges leaves them no use).
 * Dropped one by one, not as ALL and some added back: Podman makes what is *added* effective for users other than root too.
 */
const droppedCapabilities = ['AUDIT_WRITE', 'MKNOD', 'NET_RAW', 'SETFCAP', 'SETPCAP'];

/** Docker's own default; given here so that an image with a user other than root binds port 80 on Podman as well. */
const sysctls = { 'net.ipv4.ip_unprivileged_port_start': '0' };

/**
 * What to send to the engine for one instance. `hasOwnInit`: its process has to be process 1 itself. Pure. Fails with START_FAILED where no
 * process can get what is asked.
 */
export function toContainerBody(workload: Workload, index: number, traits: HostTraits, hasOwnInit = false): ContainerBody {
  const network = networkName(workload.owner);
  refuseUnwritable(workload);
  return {
    Image: workload.image,
    ...(workload.entrypoint.length > 0 && { Entrypoint: workload.entrypoint }),
    ...(workload.arguments.length > 0 && { Cmd: workload.arguments }),
    Env: toEnvironment(workload),
    Labels: instanceLabels(workload, index),
    ExposedPorts: Object.fromEntries(workload.ports.map((port) => [`${port.internalPort}/${transportOf(port)}`, {}])),
    StopTimeout: workload.terminationGraceSeconds,
    HostConfig: {
      // Reaps processes that end after their parent, and makes SIGTERM end a process that does not handle it: the kernel spares process 1.
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
      // Not `unless-stopped` from the start: the engine would restart what does not come up, without end and unseen.
      RestartPolicy: { Name: 'no' },
      // Davit stores log lines itself; the engine's file only has to bridge a restart of Davit. Named although it is the
      // default, as an operator's default may be journald, from which Podman cannot follow without systemd.
      LogConfig: { Type: 'json-file', Config: { 'max-size': '20m' } },
    },
    NetworkingConfig: { EndpointsConfig: { [network]: { Aliases: [...new Set(workload.hostnames)] } } },
  };
}

/** Files are written into the container, and an engine refuses that where nothing may be written. */
function refuseUnwritable({ readOnlyRootFilesystem, files }: Workload): void {
  if (readOnlyRootFilesystem !== true || files.length === 0) return;
  throw new DriverError({
    cause: 'START_FAILED',
    message: `The file ${files[0]?.path} cannot be written, as security.read_only_root_filesystem is true.`,
    hint: 'Use variables of type VALUE instead of FILE, or set security.read_only_root_filesystem to false.',
  });
}

function limits(workload: Workload, traits: HostTraits): Partial<ContainerBody['HostConfig']> {
  const memory = Math.max(workload.memoryMiB, leastMemoryMiB) * mebibyte;
  const cpu = Math.min(workload.cpuMillicores, traits.cpuMillicores);
  return {
    ...(traits.cpuLimit && cpu > 0 && { NanoCpus: Math.max(cpu, 10) * 1_000_000 }),
    ...(traits.memoryLimit && { Memory: memory }),
    // MemorySwap is memory plus swap: equal means no swap, so that a limit is a limit and not a slow machine.
    ...(traits.memoryLimit && traits.swapLimit && { MemorySwap: memory }),
    ...(traits.pidsLimit && { PidsLimit: pidsLimit }),
    ...(traits.ulimits && { Ulimits: traits.ulimits }),
    ...(traits.sysctls && { Sysctls: sysctls }),
  };
}

function toEnvironment(workload: Workload): string[] {
  return workload.environment.map(({ name, value }) => {
    const text = value.reveal();
    if (text.includes('\0'))
      throw new DriverError({
        cause: 'START_FAILED',
        message: `The value of variable ${name} contains a NUL character, which no process environment can hold.`,
        hint: 'Store the value as base64, or as a FILE variable.',
      });
    return `${name}=${text}`;
  });
}

function toPortBindings(workload: Workload, index: number, traits: HostTraits): Record<string, PortBinding[]> {
  const bindings: Record<string, PortBinding[]> = {};
  for (const port of workload.ports) {
    const key = `${port.internalPort}/${transportOf(port)}`;
    const published = bindings[key] ?? [];
    if (traits.publishOn !== null && port.protocol !== 'UDP') {
      if (published.length === 0) published.push({ HostIp: traits.publishOn, HostPort: '' });
    }
    // A port of the host is there once: the first instance has it, the others serve the environment's network only.
    if (port.hostPort !== undefined && index === 0) published.push({ HostIp: hostIp(traits), HostPort: String(port.hostPort) });
    if (published.length > 0) bindings[key] = published;
  }
  return bindings;
}

/** For the gateway `::` is all of IPv4 and IPv6; for engines it is IPv6 alone, and no address is all of both. */
function hostIp({ publicAddress }: HostTraits): string {
  return publicAddress === '::' ? '' : publicAddress;
}

/** Content of a file variable with the mode it gets: readable by whoever the process runs as, writable by nobody. */
export interface PlacedFile {
  readonly name: string;
  readonly mode: number;
  readonly content: WorkloadFile['content'];
}

/** Files as entries of an archive that is unpacked at `/`. Parents that do not exist are made by the engine. */
export function toPlacedFiles(files: readonly WorkloadFile[]): PlacedFile[] {
  return files.map((file) => ({ name: file.path.replace(/^\/+/, ''), mode: 0o444, content: file.content }));
}
