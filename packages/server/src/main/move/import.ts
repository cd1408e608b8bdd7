import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AppError, isAppError, messageOf, neverAborted, type Sensitive } from '@davit/base';
import { migrate, openImport, readMigrations, migrationsFolder } from '@davit/db';
import { arrivalStatements } from '@davit/engine';
import type { Print } from '../commands.ts';
import type { Configuration } from '../../configuration.ts';
import { openState } from '../state.ts';
import { readEntries } from './frames.ts';
import { readHead, type Head } from './head.ts';
import { passphraseOf } from './passphrase.ts';
import { damaged, unsealed } from './sealed-file.ts';
import { volumesOf, type OpenVolumes } from './volumes.ts';

/**
 * Fills a new instance with an export, completely or not at all. The whole file is read first, so that nothing is
 * written if it is damaged. The next start deploys the services that were running. EXPORT_UNREADABLE, EXPORT_NEWER,
 * INSTANCE_NOT_EMPTY, INSTANCE_IN_USE, PASSPHRASE_MISSING, SECRET_KEY_WRONG, VOLUME_EXISTS.
 */
export async function importInstance(config: Configuration, file: string, print: Print): Promise<number> {
  const passphrase = passphraseOf(config);
  const source = await openExport(file, passphrase);
  const { head } = source;
  await assertKnown(head);
  const { keys, volumes: names, installation } = await readThrough(source);
  assertKeysGiven(config, keys);
  const volumes = names.length === 0 ? null : await volumesFor(config, installation, names);
  const state = await openState(config, (message) => process.stderr.write(`davit: ${message}\n`));
  const { connectionString } = state;
  try {
    // The database gets the schema of the exported rows. Later migrations are applied after the rows were imported.
    const { current } = await migrate({ connectionString, upTo: head.migrations.length });
    if (current !== head.migrations.length) throw tooNew(head, current);
    const rows = await fill(connectionString, source, { volumes, beforeCommit: () => keepKeys(config, keys) });
    await migrate({ connectionString });
    print(`imported ${rows} rows of ${head.createdAt}, written by Davit ${head.davit}`);
  } finally {
    await state.close();
  }
  const data = names.length === 0 ? 'with empty volumes' : `${names.length} volumes are filled`;
  print(`Tokens and passwords are unchanged. davit serve now deploys what ran there, ${data}. Older images are`);
  print('not included, so a rollback to an older release of a repository is a deployment of its commit.');
  print('Do not use the former instance any longer: both would deliver webhooks and run the schedules of jobs.');
  return 0;
}

interface Source {
  readonly head: Head;
  /** Returns the content from its beginning; each call reads the file again. */
  content(): AsyncIterable<Buffer>;
}

async function openExport(file: string, passphrase: Sensitive): Promise<Source> {
  const { head, bytes } = await headOf(file);
  return {
    head,
    content: () => {
      const rest: AsyncIterable<Buffer> = createReadStream(file, { start: bytes.length, highWaterMark: 1024 * 1024 });
      const opened = unsealed({ passphrase, parameters: head.seal, head: bytes }, rest);
      const unzipped = createGunzip();
      // A failure of `opened` destroys `unzipped` with the same error, which its reader gets.
      pipeline(opened, unzipped, () => undefined);
      return unzipped;
    },
  };
}

async function headOf(file: string): Promise<{ head: Head; bytes: Buffer }> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw new AppError({ code: 'EXPORT_UNREADABLE', message: `${file} cannot be read: ${messageOf(error)}.`, cause: error });
  });
  try {
    let bytes = Buffer.alloc(0);
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(65_536), 0, 65_536, bytes.length);
      bytes = Buffer.concat([bytes, buffer.subarray(0, bytesRead)]);
      const found = readHead(bytes);
      if (found !== null) return found;
      if (bytesRead === 0) throw damaged();
    }
  } finally {
    await handle.close();
  }
}

async function assertKnown({ migrations, davit }: Head): Promise<void> {
  const own = await readMigrations(migrationsFolder);
  const isKnown = migrations.every(({ number, sha256 }) => own[number - 1]?.sha256 === sha256);
  if (isKnown) return;
  throw new AppError({
    code: 'EXPORT_NEWER',
    message: `this export was written by Davit ${davit}, whose schema this version does not know. Use that version or a later one.`,
  });
}

function tooNew({ migrations }: Head, current: number): AppError {
  return new AppError({
    code: 'INSTANCE_NOT_EMPTY',
    message: `this database has the schema ${current} already, the export is of schema ${migrations.length}. Import into one that Davit has not used: set DAVIT_HOME to a new folder, or DATABASE_URL to an empty database.`,
  });
}

interface Contents {
  readonly keys: readonly string[];
  readonly volumes: readonly string[];
  /** Id of the installation in the labels of the volumes. */
  readonly installation: string;
}

/** Reads the whole export, so that a damaged one is detected before anything is written. */
async function readThrough(source: Source): Promise<Contents> {
  let keys: readonly string[] = [];
  let installation = '';
  const volumes: string[] = [];
  await translated(() =>
    readEntries(source.content(), async (entry) => {
      if (entry.kind === 'keys') ({ keys, installation } = entry);
      if (entry.kind === 'volume') volumes.push(entry.name);
    }),
  );
  if (keys.length === 0) throw damaged();
  return { keys, volumes, installation };
}

/**
 * Returns the volumes of the container engine. VOLUME_EXISTS: one of the names is taken; its data must not be replaced.
 */
async function volumesFor(config: Configuration, installation: string, names: readonly string[]): Promise<OpenVolumes> {
  const volumes = await volumesOf(config, installation);
  const there = volumes.all.filter(({ name }) => names.includes(name)).map(({ name }) => name);
  if (there.length === 0) return volumes;
  throw new AppError({
    code: 'VOLUME_EXISTS',
    message: `the container engine has these volumes already: ${there.join(', ')}. Remove them if nobody needs what is in them, or import an export without volumes, which leaves them as they are.`,
  });
}

/** Translates errors of unzipping and parsing into EXPORT_UNREADABLE. Davit's own errors are kept. */
async function translated(read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (isAppError(error)) throw error;
    throw new AppError({ code: 'EXPORT_UNREADABLE', message: `The export cannot be read: ${messageOf(error)}.`, cause: error });
  }
}

interface Filling {
  readonly volumes: OpenVolumes | null;
  readonly beforeCommit: () => Promise<void>;
}

async function fill(connectionString: string, source: Source, { volumes, beforeCommit }: Filling): Promise<number> {
  const arrival = await openImport(connectionString);
  const made: string[] = [];
  let rows = 0;
  try {
    await readEntries(source.content(), async (entry, data) => {
      if (entry.kind === 'table') rows += await arrival.fill(entry, data);
      if (entry.kind !== 'volume') return;
      made.push(entry.name);
      // The transfer of files has no timeout.
      await volumes?.store.write(entry, data, neverAborted);
    });
    await beforeCommit();
    await arrival.commit(arrivalStatements);
    return rows;
  } catch (error) {
    for (const name of made) await volumes?.store.remove(name, neverAborted).catch(() => undefined);
    if (isAppError(error)) throw error;
    // The cause is left out: the details of a failed COPY quote the row.
    throw new AppError({ code: 'IMPORT_FAILED', message: `The import failed, and nothing of it remains: ${messageOf(error)}.` });
  } finally {
    await arrival.close();
  }
}

/** The configured keys take precedence over the key file, so they must include all keys of the export. */
function assertKeysGiven({ secretKey }: Configuration, keys: readonly string[]): void {
  if (secretKey === null) return;
  const given = words(secretKey.reveal());
  if (keys.every((key) => given.includes(key))) return;
  throw new AppError({
    code: 'SECRET_KEY_WRONG',
    message:
      'DAVIT_SECRET_KEY does not have the keys of the instance that was exported. Set it to the value of that instance, or leave it out: then the keys of the export are written to secret-key in the state folder.',
  });
}

/**
 * Writes the imported keys to the key file, before existing keys. Those are kept, since a database may already use
 * them.
 */
async function keepKeys({ stateFolder, secretKey }: Configuration, keys: readonly string[]): Promise<void> {
  if (secretKey !== null) return;
  await mkdir(stateFolder, { recursive: true, mode: 0o711 });
  const file = path.join(stateFolder, 'secret-key');
  const former = words(await readFile(file, 'utf8').catch(() => ''));
  const all = [...keys, ...former.filter((key) => !keys.includes(key))];
  const part = `${file}.part`;
  const handle = await open(part, 'w', 0o600);
  try {
    await handle.writeFile(`${all.join('\n')}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(part, file);
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}
