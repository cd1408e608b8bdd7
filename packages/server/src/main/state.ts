import { chmod, mkdir, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '@davit/base';
import { acquireSessionLock, startEmbedded, type SessionLock } from '@davit/db';
import os from 'node:os';
import type { Configuration } from '../configuration.ts';

/** A database that accepts connections: the operator's, or the embedded one. */
export interface OpenState {
  readonly connectionString: string;
  /**
   * Takes ownership of the embedded server, for the one process that serves the state folder. An embedded server that
   * exits is restarted, and `close` stops the server even if an earlier process, which was killed, had started it.
   * `report` gets a line at each restart. The returned function gives up the ownership.
   */
  own(report: (message: string) => void): () => void;
  /** Stops the embedded server if this process started or owns it; the operator's server is left alone. */
  close(): Promise<void>;
}

/** Finds or starts the configured database. `onWait` is called if that takes long. */
export async function openState(config: Configuration, onWait: (message: string) => void): Promise<OpenState> {
  if (config.databaseUrl !== null) {
    return { connectionString: config.databaseUrl.reveal(), own: () => () => undefined, close: () => Promise.resolve() };
  }
  const embedded = await startEmbedded({ stateFolder: config.stateFolder, onWait });
  let stops = !embedded.adopted;
  return {
    connectionString: embedded.connectionString,
    own: (report) => {
      stops = true;
      const unwatch = embedded.keepRunning(report);
      return () => {
        stops = false;
        unwatch();
      };
    },
    close: async () => {
      if (stops) await embedded.stop();
    },
  };
}

/**
 * Returns the name of a state folder's lock. It contains the host name, because machines that share a database may have
 * the same paths.
 */
export async function serveLockName({ stateFolder }: Configuration): Promise<string> {
  return `serve ${os.hostname()} ${await realpath(stateFolder).catch(() => stateFolder)}`;
}

/**
 * Acquires the right to serve this state folder, which only one process can hold. The right ends when the process
 * exits, however it exits.
 */
export async function lockStateFolder(config: Configuration, connectionString: string): Promise<SessionLock> {
  await mkdir(config.stateFolder, { recursive: true, mode: 0o711 });
  const lock = await acquireSessionLock(connectionString, await serveLockName(config));
  if (lock !== null) return lock;
  throw new AppError({
    code: 'STATE_FOLDER_IN_USE',
    message: `another davit serve uses this state folder (${config.stateFolder}). Stop it, or set DAVIT_HOME to another folder.`,
  });
}

/** Writes the administrator's token into a file that only the operator can read; returns its path. */
export async function keepAdminToken(config: Configuration, token: string): Promise<string> {
  const file = path.join(config.stateFolder, 'admin-token');
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  // An existing file keeps its mode.
  await chmod(file, 0o600);
  return file;
}
