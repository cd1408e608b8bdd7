import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pause } from '@davit/base';
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
// Longest message, in characters. HAProxy prints a line for each line that it refuses.
const longestWords = 4000;

/** The HAProxy master of one folder, regardless of who started it, and its files. Knows nothing of routes. */
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

  /** Returns the master's list of processes; null if no master is reachable. */
  async processes(): Promise<Processes | null> {
    try {
      return toProcesses(await ask(this.masterSocket, 'show proc'));
    } catch (error) {
      // There is no socket, nobody listens on it any more, or the master is in the middle of a reload.
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

  /**
   * Sends commands to the current worker, each separately, as commands followed by text require. Ignores the output:
   * the effect is checked later.
   */
  async tell(commands: readonly string[]): Promise<void> {
    for (const command of commands) await ask(this.workerSocket, command);
  }

  /** Returns whether a worker, current or former, reports that it is stopping; null if it has exited. */
  async isStopping(pid: number): Promise<boolean | null> {
    const answer = await ask(this.masterSocket, `@!${pid} show info`).catch(() => '');
    const serving = toServing(answer);
    return Number.isNaN(serving.pid) ? null : serving.isStopping;
  }

  /** Returns requests and connections under way by server name, for each worker including former ones. */
  async loads(): Promise<readonly ReadonlyMap<string, number>[]> {
    const processes = await this.processes();
    if (processes === null) return [];
    return await Promise.all(
      // A worker that has exited since has nothing under way.
      processes.workers.map(({ pid }) => ask(this.masterSocket, `@!${pid} show stat -1 4 -1`).then(toLoads, () => new Map())),
    );
  }

  /** Returns the counters of each worker, including former ones. Workers that have exited since are omitted. */
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

  /** Returns the contents of the stored files; '' for a missing file. */
  async read(names: readonly string[]): Promise<ConfigurationFiles> {
    const texts = await Promise.all(names.map((name) => readFile(join(this.folder, name), 'utf8').catch(missingIsEmpty)));
    return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']));
  }

  /**
   * Replaces files, each atomically; unchanged files are not touched. The configuration is written last, as it names
   * the others.
   */
  async write(files: ConfigurationFiles): Promise<void> {
    const present = await this.read(Object.keys(files));
    for (const [name, text] of Object.entries(files).sort(([name]) => (name === configurationFile ? 1 : -1))) {
      if (present[name] === text && text !== '') continue;
      const path = join(this.folder, name);
      await writeFile(`${path}.new`, text, { mode: 0o600 });
      await rename(`${path}.new`, path);
    }
  }

  /**
   * Removes all other files of a folder. No process may be started with them any more, for example with a former key.
   */
  async keepOnly(folder: string, names: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(join(this.folder, folder))) {
      if (!names.has(`${folder}/${name}`)) await rm(join(this.folder, folder, name), { force: true });
    }
  }

  /**
   * Makes HAProxy itself check a configuration, in a folder of its own. Returns HAProxy's message if HAProxy refuses
   * the configuration, and null if HAProxy accepts it. Fails with GATEWAY_FAILED if HAProxy cannot be run.
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

  /**
   * Creates the folder, and returns whether HAProxy was built with Lua. Fails with GATEWAY_FAILED if HAProxy is missing
   * or too old.
   */
  async prepare(): Promise<{ readonly hasLua: boolean }> {
    await mkdir(join(this.folder, 'empty'), { recursive: true, mode: 0o755 });
    await mkdir(join(this.folder, certificateFolder), { recursive: true, mode: 0o700 });
    const { stdout } = await run(this.program, ['-vv'], { env: environment }).catch((error: unknown) => {
      throw this.programFailure(`${this.program} cannot be run.`, error);
    });
    const version = /version (\d+)\.(\d+)/.exec(stdout);
    if (version === null || Number(version[1]) * 1000 + Number(version[2]) < 2006) {
      throw failure(`HAProxy 2.6 or later is needed; this is ${stdout.split('\n', 1)[0]}.`);
    }
    return { hasLua: /^Feature list.* \+LUA\b/m.test(stdout) };
  }

  /**
   * Starts a master in a session of its own with the stored configuration, and waits until its worker serves. HAProxy's
   * output goes to `haproxy.log`. If the master exits instead, fails with its output.
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
      // Davit's environment is not inherited, as it may contain secrets.
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
   * Makes the master load the stored configuration. Resolves once a new worker serves and all former workers have
   * stopped accepting connections. Resolves to false if the new worker could not start; the former one then continues.
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
      await this.waitFor(async () => (await this.isStopping(pid)) !== false, `Former worker ${pid} still accepts connections.`);
    }
    return true;
  }

  /** Truncates the log of HAProxy when it has become long: HAProxy logs a line for every change of a server. */
  async boundLog(): Promise<void> {
    const path = join(this.folder, 'haproxy.log');
    if ((await sizeOf(path)) > logLimitBytes) await truncate(path);
  }

  /** Ends master and workers; resolves once they have exited. */
  async stop(): Promise<void> {
    const processes = await this.processes();
    if (processes === null) {
      await this.endStuckMaster();
      return;
    }
    kill(processes.master.pid, 'SIGTERM');
    const pids = [processes.master.pid, ...processes.workers.map((worker) => worker.pid)];
    await this.waitFor(() => Promise.resolve(!pids.some(isAlive)), 'HAProxy does not exit.');
  }

  private async answers(): Promise<boolean> {
    return await this.serving().then(
      (serving) => !Number.isNaN(serving.pid) && !serving.isStopping,
      () => false,
    );
  }

  /** Returns whether an unreachable master was only starting or reloading, at the request of another process. */
  async isComingBack(): Promise<boolean> {
    const deadline = performance.now() + comeBackMilliseconds;
    while (performance.now() < deadline && (await this.livingMaster()) !== null) {
      if ((await this.processes()) !== null && (await this.answers())) return true;
      await pause(pollMilliseconds);
    }
    return false;
  }

  /**
   * Ends a master that lives but is unreachable (stopped, or cut off from its socket). It holds the port, so a new
   * master cannot start before.
   */
  private async endStuckMaster(): Promise<void> {
    const pid = await this.livingMaster();
    if (pid === null) return;
    kill(pid, 'SIGKILL');
    await this.waitFor(() => Promise.resolve(!isAlive(pid)), `Process ${pid} does not exit.`);
  }

  private async livingMaster(): Promise<number | null> {
    const pid = Number((await this.read(['pid']))['pid']);
    if (!Number.isInteger(pid) || pid <= 1 || !isAlive(pid)) return null;
    // The process id may belong to another program by now.
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

export function failure(message: string, error?: unknown, original?: string, hint?: string): DriverError {
  return new DriverError({ cause: 'GATEWAY_FAILED', message, error, hint, evidence: original ? { original } : {} });
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
    // A process that has exited and has not been reaped yet still has its id.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // There is no such process.
    return false;
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has exited by itself.
  }
}
