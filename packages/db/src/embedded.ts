import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, chown, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError, messageOf, pause } from '@davit/base';
import { Client, DatabaseError } from 'pg';
import { embeddedFailure, fileFailure, programFailure, readFrom } from './embedded-failures.ts';
import { exists, postgresMajor, prepareFolders, removeLeftovers, type EmbeddedFolders } from './embedded-folders.ts';
import { anyWorksIn, askServer, isAlive, readPidFile, serverAddress, worksIn } from './embedded-process.ts';

/*
 * The embedded PostgreSQL. It is a separate process that outlives Davit: after a crash or an upgrade of Davit, the next
 * start finds it running and continues at once. It listens only on a Unix socket in a folder of mode 0700. Anyone who
 * can open that socket could also read the files; therefore authentication is `trust`.
 *
 * Starting is a loop over the observed state, without a lock:
 * - running: adopt the server
 * - starting or recovering: wait
 * - no server: start one. If another Davit process is faster, PostgreSQL's own lock file ends this server, and the loop
 *   finds the other one.
 */

export interface EmbeddedOptions {
  /** Folder that contains all files; see `preparePlace` for the exception. */
  readonly stateFolder: string;
  /** Additional PostgreSQL settings, such as `fsync: 'off'` for tests. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called once if the start takes long, for example while PostgreSQL recovers from a crash. */
  readonly onWait?: (message: string) => void;
}

export interface EmbeddedDatabase {
  readonly connectionString: string;
  /** Whether the server was already running. */
  readonly adopted: boolean;
  /** Folder of the data, binaries and log. Removing it after `stop` removes everything. */
  readonly folder: string;
  /**
   * Restarts the server, with the same address, whenever its process has ended (killed, out of memory). Checks once a
   * second. `report` receives a line for each restart and for each failure. Returns a function that ends the watch;
   * `stop` ends it too. Only the one process that serves this state folder may call it: a second watch would undo the
   * first one's `stop`.
   */
  keepRunning(report: (message: string) => void): () => void;
  /**
   * Performs a fast shutdown: ends all connections and writes everything to disk. Resolves when the process has exited.
   */
  stop(): Promise<void>;
}

const databaseName = 'davit';
const startWithinMilliseconds = 600_000;
const reportAfterMilliseconds = 3_000;
const stopWithinMilliseconds = 120_000;
const watchEveryMilliseconds = 1_000;
const largestLogBytes = 10 * 1024 * 1024;

/**
 * Starts the embedded PostgreSQL of this state folder, or adopts the running server. Creates its data folder the first
 * time. Idempotent, and safe when several processes call it concurrently. Waits up to ten minutes for crash recovery.
 *
 * Errors, each with a remedy:
 * - `EMBEDDED_DATABASE_UNSUPPORTED`: no binaries for this machine.
 * - `EMBEDDED_DATABASE_VERSION`: data of another major version.
 * - `DISK_FULL`
 * - `EMBEDDED_DATABASE_FAILED`
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  try {
    const folders = await prepareFolders(path.resolve(options.stateFolder));
    await ensureData(folders);
    const { socketFolder, adopted } = await ensureRunning(folders, options);
    if (!adopted) await removeLeftovers(folders);
    return new RunningServer(folders, options, { socketFolder, adopted });
  } catch (error) {
    throw fileFailure(options.stateFolder, error);
  }
}

class RunningServer implements EmbeddedDatabase {
  readonly connectionString: string;
  readonly adopted: boolean;
  readonly folder: string;
  readonly #location: EmbeddedFolders;
  readonly #options: EmbeddedOptions;
  #timer: NodeJS.Timeout | undefined;
  #restart: Promise<void> | undefined;

  constructor(
    folders: EmbeddedFolders,
    options: EmbeddedOptions,
    found: { readonly socketFolder: string; readonly adopted: boolean },
  ) {
    this.#location = folders;
    this.#options = options;
    this.connectionString = serverAddress(found.socketFolder, databaseName);
    this.adopted = found.adopted;
    this.folder = folders.folder;
  }

  keepRunning(report: (message: string) => void): () => void {
    this.#timer ??= setInterval(() => {
      this.#restart ??= this.#restartIfGone(report);
    }, watchEveryMilliseconds);
    this.#timer.unref();
    return () => this.#endWatch();
  }

  async stop(): Promise<void> {
    this.#endWatch();
    await this.#restart;
    await stopServer(this.#location.data);
  }

  #endWatch(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #restartIfGone(report: (message: string) => void): Promise<void> {
    try {
      if ((await findServer(this.#location.data)) !== undefined) return;
      report('the embedded database has stopped; starting it again');
      await ensureRunning(this.#location, this.#options);
      report('the embedded database runs again');
    } catch (error) {
      // The failure may be temporary, for example a full disk. The next check retries.
      report(`the embedded database does not start: ${messageOf(error)}`);
    } finally {
      this.#restart = undefined;
    }
  }
}

async function ensureData(folders: EmbeddedFolders): Promise<void> {
  const version = await readFile(path.join(folders.data, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version === undefined) {
    if (await exists(folders.data)) {
      throw embeddedFailure(
        `${folders.data} is not a data folder of PostgreSQL: its PG_VERSION is missing. Restore it from a backup, or move it away to start with an empty database.`,
      );
    }
    return makeData(folders);
  }
  if (version.trim() !== String(postgresMajor)) {
    throw new AppError({
      code: 'EMBEDDED_DATABASE_VERSION',
      message: `${folders.data} was made by PostgreSQL ${version.trim()}, and this version of Davit includes PostgreSQL ${postgresMajor}. Export with the former version of Davit and import here, or convert the folder with pg_upgrade.`,
    });
  }
}

// Creates the data in a temporary folder and renames it when complete, so that an interrupted initdb leaves nothing
// that looks like data.
async function makeData(folders: EmbeddedFolders): Promise<void> {
  const fresh = path.join(folders.dataParent, `new-${randomUUID()}`);
  await mkdir(fresh, { mode: 0o700 });
  if (folders.user !== undefined) await chown(fresh, folders.user.uid, folders.user.gid);
  const program = path.join(folders.binaries, 'bin', 'initdb');
  const options = ['--pgdata', fresh, '--username', 'davit', '--auth-local', 'trust', '--auth-host', 'reject'];
  const locale = ['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'];
  const child = spawn(program, [...options, ...locale, '--data-checksums', '--no-instructions'], {
    ...spawnOptions(folders),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = await outputOf(child);
  if (output.code !== 0) {
    await rm(fresh, { recursive: true, force: true });
    throw programFailure('initdb', folders.folder, output.text);
  }
  // ENOTEMPTY: another Davit process created the data meanwhile; its data is equivalent.
  await rename(fresh, folders.data).catch(() => rm(fresh, { recursive: true, force: true }));
}

async function ensureRunning(
  folders: EmbeddedFolders,
  options: EmbeddedOptions,
): Promise<{ socketFolder: string; adopted: boolean }> {
  const began = Date.now();
  let reported = false;
  let own: StartedServer | undefined;
  while (Date.now() - began < startWithinMilliseconds) {
    const found = await findServer(folders.data);
    if (found !== undefined) {
      const answer = await askServer(found.socketFolder);
      if (answer === 'ready') return ready(found.socketFolder, own, found.pid);
    } else if (own === undefined) {
      own = await startServer(folders, options.settings ?? {});
    }
    if (own?.ended === true) own = await afterEnd(folders, own);
    if (!reported && Date.now() - began > reportAfterMilliseconds) {
      reported = true;
      options.onWait?.('waiting for the embedded database, which recovers from a crash or is busy starting');
    }
    await pause(10);
  }
  throw embeddedFailure(`The embedded database was not ready within ten minutes. Its log is ${folders.log}.`);
}

async function ready(
  socketFolder: string,
  own: StartedServer | undefined,
  pid: number,
): Promise<{ socketFolder: string; adopted: boolean }> {
  await ensureDatabase(socketFolder);
  own?.child.unref();
  return { socketFolder, adopted: own?.child.pid !== pid };
}

/**
 * Returns the server that uses this data folder, according to its lock file. Removes a stale lock file that a crash
 * left behind.
 */
async function findServer(data: string): Promise<{ pid: number; socketFolder: string } | undefined> {
  const file = await readPidFile(data);
  if (file === undefined || !isAlive(file.pid)) return undefined;
  if (await worksIn(file.pid, data)) return file;
  // The process id now belongs to another program. PostgreSQL would mistake that program for a running server and
  // refuse to start. The file stays as long as a child of the previous server lives: it prevents a second server from
  // using the same shared memory.
  if (!(await anyWorksIn(data)) && (await readPidFile(data))?.pid === file.pid) {
    await rm(path.join(data, 'postmaster.pid'), { force: true });
  }
  return undefined;
}

interface StartedServer {
  readonly child: ChildProcess;
  readonly logOffset: number;
  ended: boolean;
}

async function startServer(folders: EmbeddedFolders, settings: Readonly<Record<string, string>>): Promise<StartedServer> {
  await writeConfiguration(folders, settings);
  const logOffset = await rotateLog(folders.log);
  const log = await open(folders.log, 'a', 0o600);
  try {
    const child = spawn(path.join(folders.binaries, 'bin', 'postgres'), ['-D', folders.data], {
      ...spawnOptions(folders),
      // The server gets its own session, so that Ctrl-C on Davit's terminal and the exit of Davit do not affect it.
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    const server: StartedServer = { child, logOffset, ended: false };
    const end = (): void => {
      server.ended = true;
    };
    child.once('exit', end);
    child.once('error', end);
    return server;
  } finally {
    await log.close();
  }
}

// The started server exited at once. If another server holds the folder, or children of a killed server still do, the
// start is retried. Any other reason is a failure, which the log explains.
async function afterEnd(folders: EmbeddedFolders, own: StartedServer): Promise<undefined> {
  const output = await readFrom(folders.log, own.logOffset);
  if (!/lock file "[^"]*" already exists|pre-existing shared memory block/.test(output)) {
    throw programFailure('postgres', folders.folder, output);
  }
  await pause(50);
  return undefined;
}

async function writeConfiguration(folders: EmbeddedFolders, settings: Readonly<Record<string, string>>): Promise<void> {
  const values: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: folders.socketFolder,
    unix_socket_permissions: '0700',
    port: '5432',
    max_connections: '100',
    // A control plane's tables are small. Saving memory matters more than caching all of them.
    shared_buffers: '64MB',
    jit: 'off',
    // Each of these settings saves processes that would be idle.
    io_method: 'sync',
    max_logical_replication_workers: '0',
    autovacuum_max_workers: '2',
    max_worker_processes: '4',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Statements and values must not be in a log file; starts, stops and crashes should be.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    ...settings,
  };
  const lines = Object.entries(values).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`);
  const file = path.join(folders.data, 'postgresql.conf');
  const head = '# Written by Davit at each start. Own settings go into operator.conf beside this file.\n';
  const text = `${head}${lines.join('\n')}\ninclude_if_exists = 'operator.conf'\n`;
  const fresh = `${file}.new`;
  await writeFile(fresh, text, { mode: 0o600 });
  if (folders.user !== undefined) await chown(fresh, folders.user.uid, folders.user.gid);
  await rename(fresh, file);
}

async function rotateLog(log: string): Promise<number> {
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size <= largestLogBytes) return size;
  await rename(log, `${log}.1`);
  await chmod(`${log}.1`, 0o600);
  return 0;
}

async function ensureDatabase(socketFolder: string): Promise<void> {
  const client = new Client({ connectionString: serverAddress(socketFolder) });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [databaseName]);
    if (rowCount === 0) await client.query(`create database ${databaseName}`);
  } catch (error) {
    // Another Davit process with the same folder created the database between the check and the creation.
    if (!(error instanceof DatabaseError && (error.code === '42P04' || error.code === '23505'))) throw error;
  } finally {
    await client.end();
  }
}

async function stopServer(data: string): Promise<void> {
  const file = await readPidFile(data);
  if (file === undefined || !(await worksIn(file.pid, data))) return;
  process.kill(file.pid, 'SIGINT');
  const began = Date.now();
  while (await worksIn(file.pid, data)) {
    if (Date.now() - began > stopWithinMilliseconds) {
      throw embeddedFailure(`The embedded database (process ${file.pid}) does not stop. It may be writing to a slow disk.`);
    }
    await pause(10);
  }
}

function spawnOptions(folders: EmbeddedFolders): { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number } {
  return { ...folders.user, cwd: folders.folder, env: { LC_ALL: 'C', TZ: 'UTC', PATH: process.env['PATH'] } };
}

async function outputOf(child: ChildProcess): Promise<{ code: number | null; text: string }> {
  const chunks: Buffer[] = [];
  const keep = (chunk: Buffer): void => void chunks.push(chunk);
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, text: Buffer.concat(chunks).toString('utf8') }));
  });
}
