import type { SealParameters } from './sealed-file.ts';
import { damaged } from './sealed-file.ts';

/** The first line of every export, which distinguishes it from other files. */
export const magic = 'davit export 1';

/** The second line: the facts about an export that can be read without its passphrase. */
export interface Head {
  /** ISO 8601. */
  readonly createdAt: string;
  /** Version of Davit that wrote the export. */
  readonly davit: string;
  /** The migrations of the exported database. */
  readonly migrations: readonly { readonly number: number; readonly name: string; readonly sha256: string }[];
  readonly seal: SealParameters;
}

export function headBytes(head: Head): Buffer {
  return Buffer.from(`${magic}\n${JSON.stringify(head)}\n`);
}

const longestHead = 1024 * 1024;

/**
 * Returns the head at the start of these bytes; null if more bytes are needed. EXPORT_UNREADABLE: the file is not an
 * export.
 */
export function readHead(bytes: Buffer): { readonly head: Head; readonly bytes: Buffer } | null {
  const begin = `${magic}\n`;
  const there = bytes.toString('utf8', 0, begin.length);
  if (!begin.startsWith(there)) throw damaged('This file is not an export of Davit, or has a later format.');
  const end = bytes.indexOf('\n', begin.length);
  if (bytes.length >= begin.length && end >= 0) {
    const head: Head = JSON.parse(bytes.toString('utf8', begin.length, end));
    return { head, bytes: bytes.subarray(0, end + 1) };
  }
  if (bytes.length > longestHead) throw damaged();
  return null;
}
