import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { abortablePause } from '@davit/base';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { uptime } from 'node:os';
import { delimiter, join } from 'node:path';
import { DriverError } from '../errors.ts';
import { connectEngine } from './connection.ts';
import { askVersion } from './describe.ts';
import { ownHardLimit } from './own-limits.ts';
import { endProcess, groupOf, processesWith, readOrNull, startOf, withLock } from '../shared/processes.ts';

/**
 * Milliseconds that one call waits for the service to respond. On an idle machine the service takes less than a second.
 */
const startMilliseconds = 20_000;
/** Milliseconds since its start after which an unresponsive service is considered stuck. */
const defaultGiveUpMilliseconds = 300_000;
const endMilliseconds = 5_000;

/**
 * Starts Davit's own `podman system service` and returns the path of its socket, or null if podman is not installed.
 * The service has its own storage and configuration, so it neither depends on the operator's Podman setup nor changes
 * it. The service is detached: it and its containers outlive Davit, and a later start adopts a service that responds.
 *
 * Only one service uses a state folder at a time. All callers in all processes wait for a service that is still
 * starting; other leftover services are ended. Fails with ENGINE_UNREACHABLE if the service does not come up; the
 * caller may retry.
 */
export async function startOwnPodman(
  stateFolder: string,
  signal: AbortSignal,
  options: OwnPodmanOptions = {},
): Promise<string | null> {
  const locations = ownPodmanPaths(stateFolder);
  const isUp = await answers(locations.socket, signal);
  if (isUp && servicesOf(locations).length < 2) return locations.socket;
  const podman = findProgram('podman');
  if (podman === null) return isUp ? locations.socket : null;
  mkdirSync(locations.folder, { recursive: true, mode: 0o700 });
  return withLock(locations.lock, signal, async () => {
    const deadline = Date.now() + startMilliseconds;
    await endLeftOver(locations, options.giveUpMilliseconds ?? defaultGiveUpMilliseconds, signal);
    if (await answers(locations.socket, signal)) return locations.socket;
    const ended = servicesOf(locations).length > 0 ? { reason: null } : startService(podman, locations, options);
    while (!(await answers(locations.socket, signal))) {
      if (ended.reason !== null || Date.now() > deadline) throw notUp(locations, ended.reason);
      await abortablePause(25, signal);
    }
    return locations.socket;
  });
}

/**
 * Returns the process ids of the services that use this state folder, newest first. Each service is started as the
 * leader of a process group. Without root, Podman runs a second process in a user namespace, which belongs to the same
 * group.
 */
function servicesOf({ socket }: OwnPodmanPaths): number[] {
  return processesWith(...argumentsOf(socket)).filter((id) => groupOf(id) === id);
}

function argumentsOf(socket: string): string[] {
  return ['system', 'service', `unix://${socket}`];
}

/**
 * Ends all services of the state folder except the one that listens, or the newest if none listens. Of several services
 * that were started while none responded, only one is reachable. The remaining service is ended too if it has exceeded
 * `giveUpMilliseconds` and does not respond.
 */
async function endLeftOver(locations: OwnPodmanPaths, giveUpMilliseconds: number, signal: AbortSignal): Promise<void> {
  const services = servicesOf(locations);
  const kept = listenerOf(locations.socket) ?? services[0];
  for (const id of services) if (id !== kept) await endProcess(id, endMilliseconds, signal);
  if (kept === undefined) return;
  writeFileSync(locations.pid, `${kept}\n`);
  if (ageMilliseconds(kept) < giveUpMilliseconds || (await answers(locations.socket, signal))) return;
  await endProcess(kept, endMilliseconds, signal);
}

/** Returns the process id of the service that listens on the socket, or null if none does. */
function listenerOf(socket: string): number | null {
  const line = (readOrNull('/proc/net/unix') ?? '').split('\n').find((one) => one.endsWith(` ${socket}`));
  const inode = line?.trim().split(/\s+/)[6];
  if (inode === undefined) return null;
  const holds = (id: number): boolean => {
    try {
      return readdirSync(`/proc/${id}/fd`).some((name) => readlinkSync(`/proc/${id}/fd/${name}`) === `socket:[${inode}]`);
    } catch {
      return false; // The process has exited, or has closed a file meanwhile.
    }
  };
  const listener = processesWith(...argumentsOf(socket)).find(holds);
  return listener === undefined ? null : groupOf(listener);
}

/** Returns the age of a process in milliseconds. /proc counts in hundredths of a second on every Linux. */
function ageMilliseconds(id: number): number {
  return uptime() * 1000 - Number(startOf(id)) * 10;
}

function startService(podman: string, locations: OwnPodmanPaths, options: OwnPodmanOptions): { reason: string | null } {
  forgetBeforeReboot(locations);
  mkdirSync(locations.run, { recursive: true, mode: 0o700 });
  writeFileSync(locations.configuration, podmanConfiguration(seenHost(), options), { mode: 0o600 });
  rmSync(locations.socket, { force: true });
  const log = openSync(locations.log, 'a', 0o600);
  const service = spawn(podman, serviceArguments(locations), {
    detached: true,
    // Podman's monitors write a file named `oom` into the folder they were started in.
    cwd: locations.folder,
    stdio: ['ignore', log, log],
    env: {
      ...process.env,
      CONTAINERS_CONF: locations.configuration,
      ...(options.registries !== undefined && { CONTAINERS_REGISTRIES_CONF: options.registries }),
    },
  });
  closeSync(log);
  const ended: { reason: string | null } = { reason: null };
  service.once('error', (error) => (ended.reason = error.message));
  service.once('exit', (code) => (ended.reason = `it exited with code ${code}`));
  service.unref();
  // The pid is written immediately and not after the service responds, so that the next caller finds the service.
  if (service.pid !== undefined) writeFileSync(locations.pid, `${service.pid}\n`);
  return ended;
}

export interface OwnPodmanOptions {
  /**
   * Address range for networks, such as `10.203.0.0/16`. Default: Podman's own choice. Used by tests, where several
   * services run.
   */
  readonly subnets?: string;
  /** Path of a registries.conf(5) that replaces the machine's. Used by tests, whose registry uses plain HTTP. */
  readonly registries?: string;
  /** Milliseconds that a service may take to respond before it is ended and started again. Default: five minutes. */
  readonly giveUpMilliseconds?: number;
}

export interface OwnPodmanPaths {
  readonly folder: string;
  readonly root: string;
  readonly run: string;
  readonly networks: string;
  readonly configuration: string;
  readonly log: string;
  readonly pid: string;
  readonly lock: string;
  readonly boot: string;
  readonly socket: string;
}

/** Returns the paths that the service of a state folder uses. */
export function ownPodmanPaths(stateFolder: string): OwnPodmanPaths {
  const folder = join(stateFolder, 'podman');
  const short = createHash('sha256').update(stateFolder).digest('hex').slice(0, 12);
  const runtime = process.getuid?.() === 0 ? '/run' : (process.env.XDG_RUNTIME_DIR ?? `/tmp`);
  const run = join(runtime, `davit-${short}`);
  // Linux limits the path of a socket to 107 bytes.
  const inState = join(stateFolder, 'podman.sock');
  return {
    folder,
    root: join(folder, 'storage'),
    run,
    networks: join(folder, 'networks'),
    configuration: join(folder, 'containers.conf'),
    log: join(folder, 'service.log'),
    pid: join(folder, 'service.pid'),
    lock: join(folder, 'service.lock'),
    boot: join(folder, 'boot-id'),
    socket: Buffer.byteLength(inState) <= 100 ? inState : join(run, 'podman.sock'),
  };
}

function serviceArguments(locations: OwnPodmanPaths): string[] {
  return [
    `--root=${locations.root}`,
    `--runroot=${join(locations.run, 'run')}`,
    `--tmpdir=${join(locations.run, 'tmp')}`,
    `--network-config-dir=${locations.networks}`,
    'system',
    'service',
    '--time=0',
    `unix://${locations.socket}`,
  ];
}

/** Properties of the host that determine Podman's configuration. */
export interface PodmanHost {
  /** Whether systemd runs the machine. Without systemd there is no journal and no cgroup manager. */
  readonly hasSystemd: boolean;
  /** Whether only cgroups version 2 is mounted. */
  readonly isCgroup2: boolean;
  readonly hasRunc: boolean;
  readonly hasNetavark: boolean;
  /** Hard limits of this process. Its child processes cannot raise them without privileges. */
  readonly openFiles: number;
  readonly processes: number;
}

/** Returns the service's containers.conf (containers.conf(5), Podman 4.3). Pure. */
export function podmanConfiguration(host: PodmanHost, options: OwnPodmanOptions = {}): string {
  const lines = ['# Written by Davit at each start of its Podman service.', '[containers]', 'log_driver = "k8s-file"'];
  // Podman requests these limits whether or not the machine allows them, and starts no container if it does not.
  const files = Math.min(host.openFiles, 1_048_576);
  const processes = Math.min(host.processes, 32_768);
  lines.push(`default_ulimits = ["nofile=${files}:${files}", "nproc=${processes}:${processes}"]`);
  lines.push('[engine]', 'events_logger = "file"');
  // Two processes of each command that ran in a container remain for this many seconds (Podman's default: 300). A probe
  // would accumulate dozens of them.
  lines.push('exit_command_delay = 10');
  if (!host.hasSystemd) lines.push('cgroup_manager = "cgroupfs"');
  // crun starts no container if cgroups version 1 is mounted beside version 2; runc accepts that.
  if (!host.isCgroup2 && host.hasRunc) lines.push('runtime = "runc"');
  lines.push('[network]');
  // The other backend, CNI, provides DNS names only with a plugin that distributions do not install.
  if (host.hasNetavark) lines.push('network_backend = "netavark"');
  if (options.subnets) lines.push(`default_subnet_pools = [{ "base" = "${options.subnets}", "size" = 24 }]`);
  return `${lines.join('\n')}\n`;
}

function seenHost(): PodmanHost {
  return {
    hasSystemd: existsSync('/run/systemd/system'),
    isCgroup2: existsSync('/sys/fs/cgroup/cgroup.controllers'),
    hasRunc: findProgram('runc') !== null,
    openFiles: ownHardLimit('Max open files', 4096),
    processes: ownHardLimit('Max processes', 4096),
    hasNetavark: ['/usr/lib/podman/netavark', '/usr/libexec/podman/netavark', '/usr/local/libexec/podman/netavark'].some(
      existsSync,
    ),
  };
}

// Podman detects a reboot by its run folders being empty, which they are on most machines after a boot. On other
// machines Podman would consider the containers from before the reboot to be running.
function forgetBeforeReboot(locations: OwnPodmanPaths): void {
  const boot = readOrNull('/proc/sys/kernel/random/boot_id');
  if (boot !== null && readOrNull(locations.boot) !== boot) rmSync(locations.run, { recursive: true, force: true });
  mkdirSync(locations.folder, { recursive: true, mode: 0o700 });
  if (boot !== null) writeFileSync(locations.boot, boot);
}

async function answers(socket: string, signal: AbortSignal): Promise<boolean> {
  if (!existsSync(socket)) return false;
  const engine = connectEngine(`unix://${socket}`);
  try {
    await askVersion(engine, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DriverError) return false;
    throw error;
  } finally {
    engine.connection.close();
  }
}

function notUp(locations: OwnPodmanPaths, reason: string | null): DriverError {
  const output = (readOrNull(locations.log) ?? '').trim().split('\n').slice(-5).join(' ');
  return new DriverError({
    cause: 'ENGINE_UNREACHABLE',
    message: `Davit's own Podman service did not start: ${reason ?? `no answer within ${startMilliseconds / 1000} s`}. ${output}`,
    hint: `${missingPackages(output)}See ${locations.log}; or start Docker or Podman yourself and set DOCKER_HOST.`,
    retryable: true,
  });
}

/**
 * Returns a hint about missing packages if the log shows that they are the cause. Without root, Podman maps users with
 * two programs that distributions ship in a separate package.
 */
function missingPackages(words: string): string {
  if (!/newuidmap|newgidmap|\/etc\/sub[ug]id|insufficient UIDs|no subuid ranges/i.test(words)) return '';
  return (
    'Podman without root needs the package uidmap (Debian and Ubuntu: `apt-get install uidmap slirp4netns fuse-overlayfs`; Fedora: shadow-utils) and ' +
    'ranges of ids for this user in /etc/subuid and /etc/subgid (`usermod --add-subuids 100000-165535 --add-subgids 100000-165535 <user>`). '
  );
}

/**
 * Returns the path of a program, or null. System folders are searched even if PATH omits them, as it often does for
 * ordinary users.
 */
export function findProgram(name: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'];
  for (const folder of folders) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // The program is not in this folder.
    }
  }
  return null;
}
