import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { promisify } from 'node:util';
import { migrate, openDatabase, statement } from '@davit/db';
import { openDockerEngine } from '@davit/drivers';
import { openVault, readKeys } from '../secrets/keys.ts';
import type { Print } from './commands.ts';
import type { Configuration } from './config.ts';
import { openState } from './state.ts';

interface Check {
  readonly name: string;
  /** What was found; throws what is wrong. */
  readonly look: () => Promise<string>;
}

const leastFreeGiB = 2;
const engineTimeoutMilliseconds = 10_000;
const serverVersion = statement<{ version: string }>('doctor_version', 'select version() as version');

/** Checks what Davit needs, all of it, and says what is wrong; exit code 1 when anything is. */
export async function doctor(config: Configuration, print: Print): Promise<number> {
  const checks: Check[] = [
    { name: 'database', look: () => lookAtDatabase(config) },
    { name: 'container engine', look: () => lookAtEngine(config) },
    { name: 'gateway', look: lookAtGateway },
    { name: 'disk', look: () => lookAtDisk(config) },
  ];
  let failures = 0;
  for (const { name, look } of checks) {
    try {
      print(`ok    ${name}: ${await look()}`);
    } catch (error) {
      failures += 1;
      print(`FAIL  ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failures === 0 ? 0 : 1;
}

async function lookAtDatabase(config: Configuration): Promise<string> {
  const state = await openState(config, () => undefined);
  const database = openDatabase({
    connectionString: state.connectionString,
    applicationName: 'davit doctor',
    maximumConnections: 1,
  });
  try {
    const { current } = await migrate({ connectionString: state.connectionString });
    const { version } = await database.one(serverVersion);
    await openVault(database, await readKeys(config.stateFolder, config.secretKey));
    return `${version.split(' on ')[0]}, schema ${current}, the secret key fits`;
  } finally {
    await database.close();
    await state.close();
  }
}

async function lookAtEngine(config: Configuration): Promise<string> {
  const engine = await openDockerEngine({
    stateFolder: config.stateFolder,
    signal: AbortSignal.timeout(engineTimeoutMilliseconds),
    ...(config.dockerHost === null ? {} : { socket: config.dockerHost }),
  });
  return `${engine.engine} ${engine.version} at ${engine.address}`;
}

async function lookAtGateway(): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('haproxy', ['-v']);
    return stdout.split('\n')[0] ?? 'HAProxy';
  } catch (error) {
    throw new Error('HAProxy does not start. Install HAProxy 2.6 or later (on Debian and Ubuntu: apt-get install haproxy).', {
      cause: error,
    });
  }
}

async function lookAtDisk(config: Configuration): Promise<string> {
  const { bavail, bsize } = await statfs(config.stateFolder);
  const free = (bavail * bsize) / 1024 ** 3;
  if (free < leastFreeGiB) throw new Error(`only ${free.toFixed(1)} GiB are free at ${config.stateFolder}; builds need more`);
  return `${free.toFixed(1)} GiB free at ${config.stateFolder}`;
}
