import { randomBytes } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError, type Sensitive } from '@davit/base';
import { statement, type Queryable } from '@davit/db';
import { createVault, type Vault } from './vault.ts';

const checkRecord = 'davit secret key check';

const checkRead = statement<{ sealed: Buffer | null }>(
  'secret_key_check_read',
  'select secret_key_check as sealed from installation',
);
const checkWrite = statement(
  'secret_key_check_write',
  'update installation set secret_key_check = $1 where secret_key_check is null',
);

/**
 * Returns the keys of the vault, from the variable if it is set, otherwise from `secret-key` in the state folder, which
 * is created (0600) the first time. Several keys are separated by commas, blanks or newlines: the first one encrypts,
 * all of them decrypt.
 */
export async function readKeys(stateFolder: string, fromEnvironment: Sensitive | null): Promise<Buffer[]> {
  if (fromEnvironment !== null) return parseKeys(fromEnvironment.reveal(), 'DAVIT_SECRET_KEY');
  const file = path.join(stateFolder, 'secret-key');
  await mkdir(stateFolder, { recursive: true, mode: 0o711 });
  // wx: if two processes start at once, the second one uses the key of the first.
  await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
  const { mode } = await stat(file);
  if ((mode & 0o077) !== 0) {
    throw keyFault(`${file} can be read by others. Run: chmod 600 ${file}`);
  }
  return parseKeys(await readFile(file, 'utf8'), file);
}

function parseKeys(text: string, where: string): Buffer[] {
  const keys = text
    .split(/[\s,]+/)
    .filter((word) => word !== '')
    .map((word) => Buffer.from(word, 'base64'));
  if (keys.length === 0 || keys.some((key) => key.length !== 32)) {
    throw keyFault(
      `${where} must hold keys of 32 bytes in base64, divided by commas or lines. Make one with: openssl rand -base64 32`,
    );
  }
  return keys;
}

/**
 * Creates the vault and proves that its keys belong to this database: the first start seals a check value, and each
 * later start must be able to open it. Otherwise fails with SECRET_KEY_WRONG, because continuing would mix secrets of
 * two keys.
 */
export async function openVault(database: Queryable, keys: readonly Buffer[]): Promise<Vault> {
  const vault = createVault(keys);
  await database.run(checkWrite, [vault.seal(checkRecord, checkRecord)]);
  const { sealed } = await database.one(checkRead);
  try {
    if (sealed !== null && vault.open(checkRecord, sealed) === checkRecord) return vault;
  } catch (error) {
    throw keyFault(wrongKey, error);
  }
  throw keyFault(wrongKey);
}

const wrongKey =
  'The secret key does not open this database: its secrets were encrypted with another one. Restore the file secret-key (or DAVIT_SECRET_KEY) that belongs to this database; to change the key, put the new one before the old one and keep both.';

function keyFault(message: string, cause?: unknown): AppError {
  return new AppError({ code: 'SECRET_KEY_WRONG', message, cause });
}
