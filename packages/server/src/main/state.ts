import { chmod, mkdir, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '@davit/base';
import { acquireSessionLock, startEmbedded, type SessionLock } from '@davit/db';
import os from 'node:os';
import type { Configuration } from './config.ts';

/** A database that can be connected to: the operator's, or the embedded one. */
export interface OpenState {
  readonly connectionString: string;
  /**
   * For the one process that serves the state folder: an embedded server that dies is started again, and `close` stops it also
   * when an earlier process, which was killed, had started it. `tell` gets a line at each restart. The function takes it back.
   */
  own(tell: (message: string) => void): () => void;
  /** Stops the embedded server if this process started or owns it; the operator's is left alone. */
  close(): Promise<void>;
}

/** Finds or starts the database of the configuration. `onWait`: told when that takes long. */
export async function openState(config: Configuration, onWait: (message: string) => void): Promise<OpenState> {
  if (config.databaseUrl !== null) {
    return { connectionString: config.databaseUrl.reveal(), own: () => () => undefined, close: () => Promise.resolve() };
  }
  const embedded = await startEmbedded({ stateFolder: config.stateFolder, onWait });
  let stops = !embedded.adopted;
  return {
    connectionString: embedded.connectionString,
    own: (tell) => {
      stops = true;
      const unwatch = embedded.keepRunning(tell);
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

/** What the lock of a state folder is called. With an own database, machines that share it may have the same paths. */
export async function serveLockName({ stateFolder }: Configuration): Promise<string> {
  return `serve ${os.hostname()} ${await realpath(stateFolder).catch(() => stateFolder)}`;
}

/** The right to serve this state folder, which one process has at a time. Gone when the process dies, however it dies. */
export async function lockStateFolder(config: Configuration, connectionString: string): Promise<SessionLock> {
  await mkdir(config.stateFolder, { recursive: true, mode: 0o711 });
  const lock = await acquireSessionLock(connectionString, await serveLockName(config));
  if (lock !== null) return lock;
  throw new AppError({
    code: 'STATE_FOLDER_IN_USE',
    message: `another davit serve uses this state folder (${config.stateFolder}). Stop it, or set DAVIT_HOME to another folder.`,
  });
}

/** Writes the administrator's token where the operator finds it; readable by nobody else. */
export async function keepAdminToken(config: Configuration, token: string): Promise<string> {
  const file = path.join(config.stateFolder, 'admin-token');
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  // A file that was there keeps its mode.
  await chmod(file, 0o600);
  return file;
}
