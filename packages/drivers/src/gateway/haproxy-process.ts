import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DriverError } from '../errors.ts';
import { certificateFolder } from './certificates.ts';
import { configurationFile, latencyTable, mapFile, type ConfigurationFiles } from './haproxy-config.ts';
import { ask, servingCommands, toLines, toLoads, toProcesses, toServing, type Processes, type Serving } from './runtime-api.ts';
import type { WorkerCounters } from './traffic.ts';

const run = promisify(execFile);
const startTimeoutMilliseconds = 10_000;
const comeBackMilliseconds = 2000;
const pollMilliseconds = 5;
const logLimitBytes = 4_000_000;
// HAProxy says a line for each line that it refuses.
const longestWords = 4000;

/** The HAProxy master of one folder, whoever started it, and its files. Knows nothing of routes. */
export class HaproxyProcess {
  private readonly folder: string;
  private readonly program: string;
  private readonly masterSocket: string;
  private readonly workerSocket: string;

  constructor(folder: string, program: string) {
    this.folder = folder;
    this.program = program;
    this.masterSocket = join(folder, 'master.sock');
    this.workerSocket = join(folder, 'worker.sock');
  }

  /** The master's list of processes, or null when no master answers. */
  async processes(): Promise<Processes | null> {
    try {
      return toProcesses(await ask(this.masterSocket, 'show proc'));
    } catch (error) {
      // No socket, a socket that nobody listens on any more, or a master in the middle of a reload.
      if (isSystemError(error, 'ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE')) return null;
      throw failure('The gateway process does not answer on its master socket.', error);
    }
  }

  /** Sends commands to the current worker and returns what it serves after them. */
  async serving(commands: readonly string[] = []): Promise<Serving> {
    const lines = toLines([...commands, ...servingCommands(mapFile)]);
    let answer = '';
    for (const line of lines) answer = await ask(this.workerSocket, line);
    return toServing(answer);
  }

  /** Sends commands to the current worker, each by itself, as those with text after them must be. What they answer is seen later. */
  async tell(commands: readonly string[]): Promise<void> {
    for (const command of commands) await ask(this.workerSocket, command);
  }

  /** What a worker, current or former, says about itself; null when it has ended. */
  async isStopping(pid: number): Promise<boolean | null> {
    const answer = await ask(this.masterSocket, `@!${pid} show info`).catch(() => '');
    const serving = toServing(answer);
    return Number.isNaN(serving.pid) ? null : serving.isStopping;
  }

  /** Requests and connections under way by name of the server, over all workers, former ones too. */
  async loads(): Promise<readonly ReadonlyMap<string, number>[]> {
    const processes = await this.processes();
    if (processes === null) return [];
    return await Promise.all(
      // A worker that ended since then has nothing under way.
      processes.workers.map(({ pid }) => ask(this.masterSocket, `@!${pid} show stat -1 4 -1`).then(toLoads, () => new Map())),
    );
  }

  /** What each worker, former ones too, has counted. One that ended since then is left out. */
  async counters(): Promise<readonly WorkerCounters[]> {
    const workers = (await this.processes())?.workers ?? [];
    const read = async (pid: number): Promise<WorkerCounters[]> => {
      try {
        const backends = await ask(this.masterSocket, `@!${pid} show stat -1 2 -1`);
        return [{ pid, backends, latency: await ask(this.masterSocket, `@!${pid} show table ${latencyTable}`) }];
      } catch {
        return [];
      }
    };
    return (await Promise.all(workers.map(({ pid }) => read(pid)))).flat();
  }

  /** Files as they are at rest; absent ones are ''. */
  async read(names: readonly string[]): Promise<ConfigurationFiles> {
    const texts = await Promise.all(names.map((name) => readFile(join(this.folder, name), 'utf8').catch(missingIsEmpty)));
    return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']));
  }

  /** Replaces files, each atomically; unchanged ones are left alone. The configuration comes last, as it names the others. */
  async write(files: ConfigurationFiles): Promise<void> {
    const present = await this.read(Object.keys(files));
    for (const [name, text] of Object.entries(files).sort(([name]) => (name === configurationFile ? 1 : -1))) {
      if (present[name] === text && text !== '') continue;
      const path = join(this.folder, name);
      await writeFile(`${path}.new`, text, { mode: 0o600 });
      await rename(`${path}.new`, path);
    }
  }

  /** Removes the other files of a folder: what a process must not be started with any more, as a former key. */
  async keepOnly(folder: string, names: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(join(this.folder, folder))) {
      if (!names.has(`${folder}/${name}`)) await rm(join(this.folder, folder, name), { force: true });
    }
  }

  /**
   * Has HAProxy itself read a configuration, in a folder of its own. Answers HAProxy's words when it refuses it, and null when it takes
   * it. Fails with GATEWAY_FAILED when HAProxy cannot be run.
   */
  async check(files: ConfigurationFiles): Promise<string | null> {
    const folder = join(this.folder, 'checked');
    await mkdir(join(folder, certificateFolder), { recursive: true, mode: 0o700 });
    try {
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 });
      await run(this.program, ['-c', '-f', join(folder, configurationFile)], { cwd: folder, env: environment });
      return null;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && typeof error.code === 'number')) {
        throw this.programFailure('HAProxy cannot check the configuration.', error);
      }
      const words = 'stderr' in error ? String(error.stderr) : '';
      const alerts = words.split('\n').filter((line) => line.includes('[ALERT]'));
      return (alerts.length > 0 ? alerts.join('\n') : words).replaceAll(`${folder}/`, '').slice(0, longestWords);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Makes the folder. Fails with GATEWAY_FAILED when HAProxy is missing or too old. */
  async prepare(): Promise<void> {
    await mkdir(join(this.folder, 'empty'), { recursive: true, mode: 0o755 });
    await mkdir(join(this.folder, certificateFolder), { recursive: true, mode: 0o700 });
    const { stdout } = await run(this.program, ['-v'], { env: environment }).catch((error: unknown) => {
      throw this.programFailure(`${this.program} cannot be run.`, error);
    });
    const version = /version (\d+)\.(\d+)/.exec(stdout);
    if (version === null || Number(version[1]) * 1000 + Number(version[2]) < 2006) {
      throw failure(`HAProxy 2.6 or later is needed; this is ${stdout.split('\n', 1)[0]}.`);
    }
  }

  /**
   * Starts a master of its own session with the configuration at rest and waits until its worker serves. What HAProxy says
   * goes to `haproxy.log`; when it ends instead, fails with its words.
   */
  async spawn(): Promise<void> {
    await this.endStuckMaster();
    const logPath = join(this.folder, 'haproxy.log');
    const log = await open(logPath, 'a', 0o600);
    const logStart = await sizeOf(logPath);
    const paths = ['-S', `${this.masterSocket},mode,600,level,admin`, '-p', join(this.folder, 'pid')];
    const child = spawn(this.program, ['-W', ...paths, '-f', join(this.folder, configurationFile)], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      cwd: '/',
      // Nothing of Davit's environment: it may hold secrets.
      env: environment,
    });
    await log.close();
    let ended = false;
    child.on('error', () => (ended = true));
    child.on('exit', () => (ended = true));
    child.unref();
    await this.waitFor(async () => {
      if (ended) throw await this.startFailure(logPath, logStart);
      return (await this.processes())?.workers.some((worker) => worker.reloads === 0) === true && (await this.answers());
    }, 'HAProxy did not start in time.');
  }

  /**
   * Has the master load the configuration at rest. Resolves when a new worker serves and all former ones have stopped taking
   * connections; false when the new worker could not start (the former one then goes on).
   */
  async reload(): Promise<boolean> {
    const before = await this.processes();
    if (before === null) return false;
    const former = before.workers.map((worker) => worker.pid);
    await ask(this.masterSocket, 'reload').catch(() => '');
    let isLoaded = false;
    await this.waitFor(async () => {
      const now = await this.processes();
      if (now === null || now.master.reloads + now.master.failedReloads === before.master.reloads + before.master.failedReloads) {
        return false;
      }
      isLoaded = now.workers.some((worker) => worker.reloads === 0 && !former.includes(worker.pid));
      return isLoaded || now.master.failedReloads > before.master.failedReloads;
    }, 'HAProxy did not reload in time.');
    if (!isLoaded) return false;
    for (const pid of former) {
      await this.waitFor(async () => (await this.isStopping(pid)) !== false, `Former worker ${pid} goes on taking connections.`);
    }
    return true;
  }

  /** Empties the log of HAProxy, which says a line for every change of a server, when it has become long. */
  async boundLog(): Promise<void> {
    const path = join(this.folder, 'haproxy.log');
    if ((await sizeOf(path)) > logLimitBytes) await truncate(path);
  }

  /** Ends master and workers; resolves when they are gone. */
  async stop(): Promise<void> {
    const processes = await this.processes();
    if (processes === null) {
      await this.endStuckMaster();
      return;
    }
    kill(processes.master.pid, 'SIGTERM');
    const pids = [processes.master.pid, ...processes.workers.map((worker) => worker.pid)];
    await this.waitFor(() => Promise.resolve(!pids.some(isAlive)), 'HAProxy does not end.');
  }

  private async answers(): Promise<boolean> {
    return await this.serving().then(
      (serving) => !Number.isNaN(serving.pid) && !serving.isStopping,
      () => false,
    );
  }

  /** Whether a master that did not answer was only starting or loading itself anew, as somebody else asked it to. */
  async isComingBack(): Promise<boolean> {
    const deadline = performance.now() + comeBackMilliseconds;
    while (performance.now() < deadline && (await this.livingMaster()) !== null) {
      if ((await this.processes()) !== null && (await this.answers())) return true;
      await pause(pollMilliseconds);
    }
    return false;
  }

  /** A master that lives but does not answer (stopped, or cut off from its socket) holds the port: ended before a new one. */
  private async endStuckMaster(): Promise<void> {
    const pid = await this.livingMaster();
    if (pid === null) return;
    kill(pid, 'SIGKILL');
    await this.waitFor(() => Promise.resolve(!isAlive(pid)), `Process ${pid} does not end.`);
  }

  private async livingMaster(): Promise<number | null> {
    const pid = Number((await this.read(['pid']))['pid']);
    if (!Number.isInteger(pid) || pid <= 1 || !isAlive(pid)) return null;
    // The number may be another program's by now.
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(missingIsEmpty);
    return command.split('\0').includes(join(this.folder, configurationFile)) ? pid : null;
  }

  private async startFailure(logPath: string, from: number): Promise<DriverError> {
    const text = (await readFile(logPath)).subarray(from).toString();
    const lines = text.split('\n').filter((line) => /ALERT|cannot|failed/i.test(line));
    return failure('HAProxy did not start.', undefined, lines.join('\n') || text);
  }

  private programFailure(message: string, error: unknown): DriverError {
    const hint = isSystemError(error, 'ENOENT')
      ? `Install HAProxy 2.6 or later (on Debian and Ubuntu: apt-get install haproxy), or name the program's path.`
      : undefined;
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    return failure(message, error, stderr, hint);
  }

  private async waitFor(isTrue: () => Promise<boolean>, message: string): Promise<void> {
    const deadline = performance.now() + startTimeoutMilliseconds;
    while (!(await isTrue())) {
      if (performance.now() > deadline) throw failure(message);
      await pause(pollMilliseconds);
    }
  }
}

/** Whether a program listens on the port already. Asked by listening: HAProxy itself would try for seconds. */
export async function isPortTaken(port: number, host: string): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', (error) => resolve(isSystemError(error, 'EADDRINUSE')));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(false)));
  });
}

export function failure(message: string, error?: unknown, original?: string, hint?: string): DriverError {
  return new DriverError({ cause: 'GATEWAY_FAILED', message, error, hint, evidence: original ? { original } : {} });
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

function missingIsEmpty(error: unknown): string {
  if (isSystemError(error, 'ENOENT', 'ESRCH')) return '';
  throw error;
}

async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    (found) => found.size,
    () => 0,
  );
}

function isAlive(pid: number): boolean {
  try {
    // A process that ended and that nobody has waited for yet still has its number.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // No such process.
    return false;
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself.
  }
}
