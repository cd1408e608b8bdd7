import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { pause } from '@davit/base';
import { findProgram, ownPodmanPaths, startOwnPodman } from '@davit/drivers';
import { freePort } from './site.ts';

export type EngineKind = 'docker' | 'podman';

/** A real container engine for tests, isolated from the machine's own engines. */
export interface TestEngine {
  readonly kind: EngineKind;
  readonly socketPath: string;
  /** Returns the id of the engine's process, or 0 if the engine does not run. */
  pid(): number;
  /** Ends the engine's process and waits until it has exited. Docker's containers end with it; Podman's continue. */
  stop(): Promise<void>;
  /** Starts the engine, for the first time or again. Resolves when the engine responds. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /**
   * Removes everything that a reboot of the machine would remove: files and mounts of the containers. Their processes
   * must have exited.
   */
  forget(): void;
}

/**
 * Returns the engines that tests run on: those in `DAVIT_TEST_ENGINES` (`docker,podman`, or `none`), otherwise each
 * engine that this machine can start. If a named engine cannot be started, its tests fail; they are not skipped.
 */
export function testEngineKinds(): EngineKind[] {
  const named = process.env.DAVIT_TEST_ENGINES;
  const all: EngineKind[] = ['docker', 'podman'];
  if (named !== undefined && named !== '') return all.filter((kind) => named.split(',').includes(kind));
  // dockerd requires root (rootless Docker is a different installation).
  const isRoot = process.getuid?.() === 0;
  return all.filter((kind) => (kind === 'docker' ? isRoot && findProgram('dockerd') !== null : findProgram('podman') !== null));
}

/** Returns the folder for all files of the test engines. `DAVIT_TEST_ENGINES_FOLDER` separates concurrent runs. */
export function testEnginesFolder(): string {
  return process.env.DAVIT_TEST_ENGINES_FOLDER ?? `/tmp/davit-test-engines-${process.getuid?.() ?? 0}`;
}

/**
 * Returns the port for a test's own registry. The engines of this folder are configured to use plain HTTP for these two
 * ports only. Docker uses plain HTTP for all of 127.0.0.0/8.
 */
export async function testRegistryPort(which: 'first' | 'second' = 'first'): Promise<number> {
  const file = join(testEnginesFolder(), `registry-port-${which}`);
  if (!existsSync(file)) writeFileSync(file, String(await freePort()));
  return Number(readFileSync(file, 'utf8'));
}

/** Starts the engine, or adopts the engine that another test file of this run started. */
export async function startTestEngine(kind: EngineKind): Promise<TestEngine> {
  const folder = testEnginesFolder();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const engine = kind === 'docker' ? dockerEngine(folder) : podmanEngine(folder);
  await engine.start();
  return engine;
}

/** Ends the engines of this folder with their containers, and removes all their files. */
export async function stopTestEngines(): Promise<void> {
  const folder = testEnginesFolder();
  if (!existsSync(folder)) return;
  for (const engine of [dockerEngine(folder), podmanEngine(folder)]) {
    if (await answers(engine.socketPath)) await removeAll(engine.socketPath);
    await engine.stop();
  }
  removeBridge(dockerPaths(folder).bridge);
  letThrough(`${subnetOf(folder, 208)}.0.0/16`, false);
  empty([ownPodmanPaths(join(folder, 'podman')).run, folder]);
}

function empty(locations: readonly string[]): void {
  for (const location of locations) {
    unmountUnder(location);
    rmSync(location, { recursive: true, force: true });
  }
}

// Engines leave their storage mounted for their next start.
function unmountUnder(folder: string): void {
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[1] ?? []);
  const ours = mounted.filter((location) => location.startsWith(`${folder}/`)).toSorted((a, b) => b.length - a.length);
  if (ours.length > 0) execFileSync('umount', ['--lazy', ...ours]);
}

/** Number of runs with separate folders that one machine can run concurrently. */
const slots = 16;

// Concurrent runs need different networks. Chooses the first slot whose network no interface of the machine has, and
// records it in the folder.
function subnetOf(folder: string, first: number): string {
  const file = join(folder, 'slot');
  if (!existsSync(file)) writeFileSync(file, String(freeSlot(folder)));
  return `10.${first + Number(readFileSync(file, 'utf8'))}`;
}

function freeSlot(folder: string): number {
  const program = findProgram('ip');
  const taken = program === null ? '' : execFileSync(program, ['-o', '-4', 'address'], { encoding: 'utf8' });
  const wanted = Number.parseInt(createHash('sha256').update(folder).digest('hex').slice(0, 2), 16);
  for (let step = 0; step < slots; step += 1) {
    const slot = (wanted + step) % slots;
    const isTaken = [208, 224].some((first) => taken.includes(` 10.${first + slot}.`));
    if (!isTaken) return slot;
  }
  return wanted % slots;
}

interface DockerPaths {
  readonly folder: string;
  readonly socket: string;
  readonly pid: string;
  readonly log: string;
  readonly bridge: string;
}

function dockerPaths(parent: string): DockerPaths {
  const folder = join(parent, 'docker');
  const short = createHash('sha256').update(parent).digest('hex').slice(0, 8);
  return { folder, socket: join(folder, 'd.sock'), pid: join(folder, 'd.pid'), log: join(folder, 'log'), bridge: `dvt-${short}` };
}

function dockerEngine(parent: string): TestEngine {
  const locations = dockerPaths(parent);
  const start = async (): Promise<void> => {
    if (await answers(locations.socket)) return;
    mkdirSync(locations.folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(locations.folder, 'daemon.json'), '{}');
    makeBridge(locations.bridge, `${subnetOf(parent, 208)}.255.1/24`);
    letThrough(`${subnetOf(parent, 208)}.0.0/16`, true);
    // dockerd does not start while a pid file names a killed process that has not been reaped yet.
    if (!isRunning(pidIn(locations.pid))) rmSync(locations.pid, { force: true });
    const program = findProgram('dockerd');
    if (program === null) throw new Error('dockerd is not installed');
    await launch(program, dockerArguments(parent, locations), locations);
  };
  return engineOf('docker', { ...locations, runtime: join(locations.folder, 'exec') }, start);
}

function dockerArguments(parent: string, locations: DockerPaths): string[] {
  const value: Readonly<Record<string, string>> = {
    'config-file': join(locations.folder, 'daemon.json'),
    'data-root': join(locations.folder, 'data'),
    'exec-root': join(locations.folder, 'exec'),
    pidfile: locations.pid,
    host: `unix://${locations.socket}`,
    bridge: locations.bridge,
    'default-address-pool': `base=${subnetOf(parent, 208)}.0.0/17,size=24`,
    // The machine's own firewall rules are left unchanged except for one, see `letThrough`.
    iptables: 'false',
    ip6tables: 'false',
    'ip-masq': 'false',
    'exec-opt': 'native.cgroupdriver=cgroupfs',
    'shutdown-timeout': '3',
    'log-level': 'warn',
  };
  return Object.entries(value).map(([name, setting]) => `--${name}=${setting}`);
}

async function launch(program: string, commandLine: readonly string[], locations: DockerPaths): Promise<void> {
  const log = openSync(locations.log, 'a', 0o600);
  const child = spawn(program, commandLine, { detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const ended: { reason: string | null } = { reason: null };
  child.once('error', (error) => (ended.reason = error.message));
  child.once('exit', (code) => (ended.reason = `it exited with code ${code}`));
  child.unref();
  const deadline = Date.now() + 60_000;
  while (!(await answers(locations.socket))) {
    if (ended.reason !== null || Date.now() > deadline) {
      const output = readFileSync(locations.log, 'utf8').trim().split('\n').slice(-5).join('\n');
      throw new Error(`${program} did not come up: ${ended.reason ?? 'no answer within 60 s'}\n${output}`);
    }
    await pause(50);
  }
}

function makeBridge(name: string, address: string): void {
  if (existsSync(`/sys/class/net/${name}`)) return;
  execFileSync('ip', ['link', 'add', 'name', name, 'type', 'bridge']);
  execFileSync('ip', ['address', 'add', address, 'dev', name]);
  execFileSync('ip', ['link', 'set', name, 'up']);
}

function removeBridge(name: string): void {
  if (existsSync(`/sys/class/net/${name}`)) execFileSync('ip', ['link', 'delete', name]);
}

// Another Docker on the machine has configured the kernel to drop unknown traffic, including traffic between the
// containers of these tests.
function letThrough(subnet: string, isWanted: boolean): void {
  const program = process.getuid?.() === 0 ? findProgram('iptables') : null;
  if (program === null) return;
  const rule = ['FORWARD', '-s', subnet, '-d', subnet, '-j', 'ACCEPT'];
  const isThere = spawnSync(program, ['-w', '-C', ...rule]).status === 0;
  if (isThere !== isWanted) spawnSync(program, ['-w', isWanted ? '-I' : '-D', ...rule]);
}

function podmanEngine(parent: string): TestEngine {
  const state = join(parent, 'podman');
  const locations = ownPodmanPaths(state);
  const start = async (): Promise<void> => {
    mkdirSync(state, { recursive: true, mode: 0o700 });
    const registries = join(state, 'registries.conf');
    const ports = [await testRegistryPort('first'), await testRegistryPort('second')];
    const plain = ports.map((port) => `[[registry]]\nlocation = "127.0.0.1:${port}"\ninsecure = true\n`);
    writeFileSync(registries, plain.join(''));
    const options = { subnets: `${subnetOf(parent, 224)}.0.0/16`, registries };
    const socket = await startOwnPodman(state, new AbortController().signal, options);
    if (socket === null) throw new Error('podman is not installed');
  };
  return engineOf('podman', { ...locations, runtime: locations.run }, start);
}

interface EnginePaths {
  readonly socket: string;
  readonly pid: string;
  /** Folder of files that exist only while the engine runs. */
  readonly runtime: string;
}

function engineOf(kind: TestEngine['kind'], locations: EnginePaths, start: () => Promise<void>): TestEngine {
  const stop = (): Promise<void> => endProcess(locations.pid);
  return {
    kind,
    socketPath: locations.socket,
    pid: () => pidIn(locations.pid),
    start,
    stop,
    restart: () => stop().then(start),
    forget: () => empty([locations.runtime, locations.pid]),
  };
}

function pidIn(file: string): number {
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
}

/** Ends the process of a pid file with SIGTERM, after 30 s with SIGKILL. Does nothing if there is no such process. */
async function endProcess(pidFile: string): Promise<void> {
  const pid = pidIn(pidFile);
  if (!(pid > 1) || !isRunning(pid)) return;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + 30_000;
  while (isRunning(pid)) {
    if (Date.now() > deadline) process.kill(pid, 'SIGKILL');
    await pause(20);
  }
  rmSync(pidFile, { force: true });
}

// A zombie counts as exited. Its parent is the process that ran the previous tests.
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

// Removes networks too, because Docker leaves their bridges on the machine when it exits.
async function removeAll(socketPath: string): Promise<void> {
  const remove = async (list: string, path: (id: string) => string): Promise<void> => {
    const found: unknown = JSON.parse(await ask(socketPath, 'GET', list));
    if (!Array.isArray(found)) return;
    const ids = found.flatMap((object: { readonly Id: string }) => [object.Id]);
    await Promise.all(ids.map((id) => ask(socketPath, 'DELETE', path(id))));
  };
  await remove('/v1.41/containers/json?all=true', (id) => `/v1.41/containers/${id}?force=true&v=true`);
  // The engine refuses to remove the networks that it needs itself.
  await remove('/v1.41/networks', (id) => `/v1.41/networks/${id}`);
}

async function answers(socketPath: string): Promise<boolean> {
  if (!existsSync(socketPath)) return false;
  try {
    return (await ask(socketPath, 'GET', '/_ping')) === 'OK';
  } catch {
    return false;
  }
}

function ask(socketPath: string, method: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method, path, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      response.once('error', reject);
    });
    call.once('error', reject);
    call.end();
  });
}
