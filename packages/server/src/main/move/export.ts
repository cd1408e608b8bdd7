import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { AppError, neverAborted } from '@davit/base';
import { openDatabase, openSnapshot, type Snapshot } from '@davit/db';
import { openVault, readKeys } from '../../secrets/keys.ts';
import { programVersion } from '../version.ts';
import type { Print } from '../commands.ts';
import type { Configuration } from '../../configuration.ts';
import { openState } from '../state.ts';
import { dataFrame, entryFrame } from './frames.ts';
import { headBytes, type Head } from './head.ts';
import { passphraseOf } from './passphrase.ts';
import { newSealParameters, sealed } from './sealed-file.ts';
import { openVolumes, type OpenVolumes } from './volumes.ts';

export interface ExportRequest {
  readonly file: string;
  /**
   * Whether to include the files of volumes. Their services must be stopped: files could be incomplete if they were
   * written during the export. Default: no.
   */
  readonly withVolumes?: boolean;
}

/**
 * Writes a snapshot of the whole database and the keys of its secrets into a file, encrypted with a passphrase. The
 * server may run. The file appears once it is complete, and only its owner can read it. FILE_EXISTS,
 * PASSPHRASE_MISSING, SECRET_KEY_WRONG, VOLUME_IN_USE.
 */
export async function exportInstance(
  config: Configuration,
  { file, withVolumes = false }: ExportRequest,
  print: Print,
): Promise<number> {
  const passphrase = passphraseOf(config);
  if ((await stat(file).catch(() => null)) !== null) {
    throw new AppError({ code: 'FILE_EXISTS', message: `${file} is there already; name another file.` });
  }
  const state = await openState(config, (message) => process.stderr.write(`davit: ${message}\n`));
  const { connectionString } = state;
  try {
    // The schema is not migrated: exports are made before an upgrade.
    const snapshot = await openSnapshot(connectionString);
    try {
      const keys = await readKeys(config.stateFolder, config.secretKey);
      await assertKeysFit(connectionString, keys);
      const { migrations } = snapshot;
      const seal = newSealParameters();
      const head: Head = { createdAt: new Date().toISOString(), davit: await programVersion(), migrations, seal };
      const bytes = headBytes(head);
      const volumes = withVolumes ? await openVolumes(config, snapshot.installation) : null;
      const content = Readable.from(contentOf(snapshot, keys, volumes)).pipe(createGzip({ level: 6 }));
      const pieces = sealed({ passphrase, parameters: seal, head: bytes }, content);
      await writeWhole(file, async function* () {
        yield bytes;
        yield* pieces;
      });
    } finally {
      await snapshot.close();
    }
  } finally {
    await state.close();
  }
  const { size } = await stat(file);
  print(
    `${file}: ${(size / 1024 / 1024).toFixed(1)} MiB. It holds all records, secrets and logs; keep its passphrase elsewhere.`,
  );
  if (withVolumes) print('It includes the files of volumes, as they were while their services were stopped.');
  else print('Not included: the data of volumes (--with-volumes includes that of stopped services).');
  print('Also not included: images (they are built or pulled again), and admin-token.');
  return 0;
}

// Otherwise, secrets that no key can open would be noticed only after the import.
async function assertKeysFit(connectionString: string, keys: readonly Buffer[]): Promise<void> {
  const database = openDatabase({ connectionString, applicationName: 'davit export', maximumConnections: 1, readsOnly: true });
  try {
    await openVault(database, keys);
  } finally {
    await database.close();
  }
}

async function* contentOf(snapshot: Snapshot, keys: readonly Buffer[], volumes: OpenVolumes | null): AsyncGenerator<Buffer> {
  const { installation } = snapshot;
  yield entryFrame({ kind: 'keys', keys: keys.map((key) => key.toString('base64')), installation });
  for (const table of snapshot.tables) {
    yield entryFrame({ kind: 'table', ...table });
    for await (const rows of snapshot.rows(table)) yield dataFrame(rows);
  }
  for (const volume of volumes?.all ?? []) {
    yield entryFrame({ kind: 'volume', ...volume });
    // The transfer of files has no timeout.
    for await (const files of volumes?.store.read(volume.name, neverAborted) ?? []) yield dataFrame(files);
  }
  yield entryFrame({ kind: 'end' });
}

async function writeWhole(file: string, content: () => AsyncIterable<Buffer>): Promise<void> {
  const part = `${file}.part`;
  try {
    await pipeline(content, createWriteStream(part, { mode: 0o600, flush: true }));
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
