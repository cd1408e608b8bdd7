import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isAnswering } from './up-http.ts';

export interface Server {
  readonly address: string;
  readonly stateFolder: string;
  readonly root: string;
}

// The first start creates the database, which takes long on a slow disk.
const readyWithinMilliseconds = 120_000;
const stopWithinMilliseconds = 60_000;

/** Returns whether Davit is reachable at this address and ready. */
export function isServing(server: Server): Promise<boolean> {
  return isAnswering(`${server.address}/readyz`);
}

/**
 * Starts `./davit serve` in the background and waits until it is ready. Its output goes to `serve.log` of the state
 * folder. Returns a function that reads what it has printed since.
 */
export async function startServer(server: Server): Promise<() => string> {
  const logFile = path.join(server.stateFolder, 'serve.log');
  const log = openSync(logFile, 'a', 0o600);
  const logged = statSync(logFile).size;
  const child = spawn(path.join(server.root, 'davit'), ['serve'], {
    cwd: server.root,
    detached: true,
    stdio: ['ignore', log, log],
    // Allowed because the example's git repository is on this machine.
    env: { ...process.env, DAVIT_HOME: server.stateFolder, DAVIT_ALLOW_LOCAL_REPOSITORIES: 'true' },
  });
  closeSync(log);
  const printed = (): string => readFileSync(logFile).subarray(logged).toString('utf8');
  let end: string | undefined;
  child.once('error', (error) => (end = error.message));
  child.once('exit', (code, signal) => (end = signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`));
  const deadline = Date.now() + readyWithinMilliseconds;
  while (!(await isServing(server))) {
    if (end !== undefined || Date.now() > deadline) {
      const output = printed().trimEnd().split('\n').slice(-15).join('\n');
      throw new Error(
        `Davit did not start: ${end ?? `it is not ready after ${readyWithinMilliseconds / 1000} s`}.\n${output}\nAll of its log is ${logFile}.`,
      );
    }
    await pause(50);
  }
  writeFileSync(pidFile(server), `${child.pid}\n`);
  child.unref();
  return printed;
}

/** Stops the server that `startServer` started, and waits until it has exited. */
export async function stopServer(server: Server): Promise<void> {
  const pid = readPid(server);
  if (pid === undefined || !isOurs(pid)) {
    throw new Error(`Davit at ${server.address} was not started by ./up; stop it where it was started.`);
  }
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + stopWithinMilliseconds;
  while (isOurs(pid)) {
    if (Date.now() > deadline) throw new Error(`Davit (process ${pid}) does not exit. Its log is in ${server.stateFolder}.`);
    await pause(50);
  }
  rmSync(pidFile(server), { force: true });
}

function pidFile(server: Server): string {
  return path.join(server.stateFolder, 'serve.pid');
}

function readPid(server: Server): number | undefined {
  try {
    return Number(readFileSync(pidFile(server), 'utf8'));
  } catch {
    return undefined;
  }
}

// The id of a process that has exited may belong to another program by now.
function isOurs(pid: number): boolean {
  if (process.platform !== 'linux') return isAlive(pid);
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('packages/server/src/main/cli.ts');
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
