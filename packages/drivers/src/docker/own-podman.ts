import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { uptime } from 'node:os';
import { delimiter, join } from 'node:path';
import { Dockerode } from './dockerode.ts';
import { DriverError } from '../errors.ts';
import { askVersion } from './describe.ts';
import { ownHardLimit } from './own-limits.ts';
import { pause } from '../shared/pause.ts';
import { endProcess, groupOf, processesWith, startOf, withLock } from '../shared/processes.ts';

/** How long one call waits for the service to answer; it takes less than a second on an idle machine. */
const startMilliseconds = 20_000;
/** A service that has not answered for so long since it was started does not start any more. */
const defaultGiveUpMilliseconds = 300_000;
const endMilliseconds = 5_000;

/**
 * A `podman system service` of Davit's own, with storage and configuration of its own, so that neither depends on what the
 * operator has set up nor changes it. Detached: it and its containers outlive Davit; a later start adopts it when it answers.
 * One at a time works on a state folder: one that is still starting is waited for, by all callers of all processes, and others that
 * were left over are ended. Returns its socket's path, or null where podman is not installed. Fails with ENGINE_UNREACHABLE
 * when it does not come up; it may be called again.
 */
export async function startOwnPodman(
  stateFolder: string,
  signal: AbortSignal,
  options: OwnPodmanOptions = {},
): Promise<string | null> {
  const places = ownPodmanPlaces(stateFolder);
  const isUp = await answers(places.socket, signal);
  if (isUp && servicesOf(places).length < 2) return places.socket;
  const podman = findProgram('podman');
  if (podman === null) return isUp ? places.socket : null;
  mkdirSync(places.folder, { recursive: true, mode: 0o700 });
  return withLock(places.lock, signal, async () => {
    const deadline = Date.now() + startMilliseconds;
    await endLeftOver(places, options.giveUpMilliseconds ?? defaultGiveUpMilliseconds, signal);
    if (await answers(places.socket, signal)) return places.socket;
    const ended = servicesOf(places).length > 0 ? { reason: null } : startService(podman, places, options);
    while (!(await answers(places.socket, signal))) {
      if (ended.reason !== null || Date.now() > deadline) throw notUp(places, ended.reason);
      await pause(25, signal);
    }
    return places.socket;
  });
}

/**
 * Services that work on this state folder, the newest first. Each is started as the leader of a group; without root, Podman runs a second
 * process in a user namespace, which belongs to it.
 */
function servicesOf({ socket }: OwnPodmanPlaces): number[] {
  return processesWith(...argumentsOf(socket)).filter((id) => groupOf(id) === id);
}

function argumentsOf(socket: string): string[] {
  return ['system', 'service', `unix://${socket}`];
}

/**
 * Ends all services of the state folder but the one that listens, or else the newest: of several that were started while none of them
 * answered only one is reached. Ends that one, too, where it has had long enough to come up and does not answer.
 */
async function endLeftOver(places: OwnPodmanPlaces, giveUpMilliseconds: number, signal: AbortSignal): Promise<void> {
  const services = servicesOf(places);
  const kept = listenerOf(places.socket) ?? services[0];
  for (const id of services) if (id !== kept) await endProcess(id, endMilliseconds, signal);
  if (kept === undefined) return;
  writeFileSync(places.pid, `${kept}\n`);
  if (ageMilliseconds(kept) < giveUpMilliseconds || (await answers(places.socket, signal))) return;
  await endProcess(kept, endMilliseconds, signal);
}

/** Which of the services listens on the socket; null: none does. */
function listenerOf(socket: string): number | null {
  const line = (readOrNull('/proc/net/unix') ?? '').split('\n').find((one) => one.endsWith(` ${socket}`));
  const inode = line?.trim().split(/\s+/)[6];
  if (inode === undefined) return null;
  const holds = (id: number): boolean => {
    try {
      return readdirSync(`/proc/${id}/fd`).some((name) => readlinkSync(`/proc/${id}/fd/${name}`) === `socket:[${inode}]`);
    } catch {
      return false; // It has ended, or closed a file meanwhile.
    }
  };
  const listener = processesWith(...argumentsOf(socket)).find(holds);
  return listener === undefined ? null : groupOf(listener);
}

/** How long a process has run; /proc counts in hundredths of a second on all of Linux. */
function ageMilliseconds(id: number): number {
  return uptime() * 1000 - Number(startOf(id)) * 10;
}

function startService(podman: string, places: OwnPodmanPlaces, options: OwnPodmanOptions): { reason: string | null } {
  forgetBeforeReboot(places);
  mkdirSync(places.run, { recursive: true, mode: 0o700 });
  writeFileSync(places.configuration, podmanConfiguration(seenHost(), options), { mode: 0o600 });
  rmSync(places.socket, { force: true });
  const log = openSync(places.log, 'a', 0o600);
  const service = spawn(podman, serviceArguments(places), {
    detached: true,
    // Its monitors write a file `oom` into the folder they were started in.
    cwd: places.folder,
    stdio: ['ignore', log, log],
    env: {
      ...process.env,
      CONTAINERS_CONF: places.configuration,
      ...(options.registries !== undefined && { CONTAINERS_REGISTRIES_CONF: options.registries }),
    },
  });
  closeSync(log);
  const ended: { reason: string | null } = { reason: null };
  service.once('error', (error) => (ended.reason = error.message));
  service.once('exit', (code) => (ended.reason = `it exited with code ${code}`));
  service.unref();
  // At once, and not when it answers: whoever comes next must find it.
  if (service.pid !== undefined) writeFileSync(places.pid, `${service.pid}\n`);
  return ended;
}

export interface OwnPodmanOptions {
  /** Addresses for networks, as `10.203.0.0/16`; default Podman's own choice. For tests, where several services run. */
  readonly subnets?: string;
  /** A registries.conf(5) instead of the machine's. For tests, whose registry speaks plain HTTP. */
  readonly registries?: string;
  /** How long a service may take to answer before it is ended and started anew. Default: five minutes. */
  readonly giveUpMilliseconds?: number;
}

export interface OwnPodmanPlaces {
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

/** Where the service of a state folder keeps what. */
export function ownPodmanPlaces(stateFolder: string): OwnPodmanPlaces {
  const folder = join(stateFolder, 'podman');
  const short = createHash('sha256').update(stateFolder).digest('hex').slice(0, 12);
  const runtime = process.getuid?.() === 0 ? '/run' : (process.env.XDG_RUNTIME_DIR ?? `/tmp`);
  const run = join(runtime, `davit-${short}`);
  // Linux takes 107 bytes for the path of a socket.
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

function serviceArguments(places: OwnPodmanPlaces): string[] {
  return [
    `--root=${places.root}`,
    `--runroot=${join(places.run, 'run')}`,
    `--tmpdir=${join(places.run, 'tmp')}`,
    `--network-config-dir=${places.networks}`,
    'system',
    'service',
    '--time=0',
    `unix://${places.socket}`,
  ];
}

/** What decides how Podman has to be set up. */
export interface PodmanHost {
  /** Whether systemd runs the machine: without it there is no journal and no manager of cgroups to ask. */
  readonly hasSystemd: boolean;
  /** Whether cgroups are version 2 alone. */
  readonly isCgroup2: boolean;
  readonly hasRunc: boolean;
  readonly hasNetavark: boolean;
  /** Hard limits of this process, which its children cannot raise unless it may. */
  readonly openFiles: number;
  readonly processes: number;
}

/** The service's containers.conf (containers.conf(5), Podman 4.3). Pure. */
export function podmanConfiguration(host: PodmanHost, options: OwnPodmanOptions = {}): string {
  const lines = ['# Written by Davit at each start of its Podman service.', '[containers]', 'log_driver = "k8s-file"'];
  // Podman asks for these numbers whether the machine allows them or not, and starts nothing where it does not.
  const files = Math.min(host.openFiles, 1_048_576);
  const processes = Math.min(host.processes, 32_768);
  lines.push(`default_ulimits = ["nofile=${files}:${files}", "nproc=${processes}:${processes}"]`);
  lines.push('[engine]', 'events_logger = "file"');
  // Two processes of each command that ran in a container stay for so many seconds, 300 by default: a probe leaves dozens.
  lines.push('exit_command_delay = 10');
  if (!host.hasSystemd) lines.push('cgroup_manager = "cgroupfs"');
  // crun refuses to start anything under cgroups version 1 mounted beside version 2; runc does not mind.
  if (!host.isCgroup2 && host.hasRunc) lines.push('runtime = "runc"');
  lines.push('[network]');
  // The other backend, CNI, gives names to no network without a plugin that distributions do not install.
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

// Podman tells a reboot by its run folders being empty, as they are on most machines; where they are not, it would take the
// containers of before for running ones.
function forgetBeforeReboot(places: OwnPodmanPlaces): void {
  const boot = readOrNull('/proc/sys/kernel/random/boot_id');
  if (boot !== null && readOrNull(places.boot) !== boot) rmSync(places.run, { recursive: true, force: true });
  mkdirSync(places.folder, { recursive: true, mode: 0o700 });
  if (boot !== null) writeFileSync(places.boot, boot);
}

async function answers(socket: string, signal: AbortSignal): Promise<boolean> {
  if (!existsSync(socket)) return false;
  try {
    await askVersion(new Dockerode({ socketPath: socket }), signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DriverError) return false;
    throw error;
  }
}

function notUp(places: OwnPodmanPlaces, reason: string | null): DriverError {
  const said = (readOrNull(places.log) ?? '').trim().split('\n').slice(-5).join(' ');
  return new DriverError({
    cause: 'ENGINE_UNREACHABLE',
    message: `Davit's own Podman service did not come up: ${reason ?? `no answer within ${startMilliseconds / 1000} s`}. ${said}`,
    hint: `${missingPackages(said)}See ${places.log}; or start Docker or Podman yourself and set DOCKER_HOST.`,
    retryable: true,
  });
}

/** Without root Podman maps users by two programs that distributions package by themselves. */
function missingPackages(words: string): string {
  if (!/newuidmap|newgidmap|\/etc\/sub[ug]id|insufficient UIDs|no subuid ranges/i.test(words)) return '';
  return (
    'Podman without root needs the package uidmap (Debian and Ubuntu: `apt-get install uidmap slirp4netns fuse-overlayfs`; Fedora: shadow-utils) and ' +
    'ranges of ids for this user in /etc/subuid and /etc/subgid (`usermod --add-subuids 100000-165535 --add-subgids 100000-165535 <user>`). '
  );
}

/** The path of a program, or null. System folders count also when PATH leaves them out, as it does for users. */
export function findProgram(name: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'];
  for (const folder of folders) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not here.
    }
  }
  return null;
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
