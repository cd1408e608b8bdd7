import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError, type Sensitive } from '@davit/base';

/*
 * A stream that is encrypted with a passphrase: AES-256-GCM in pieces of 64 KiB, so that each piece is authenticated
 * before it is used. scrypt derives the key from the passphrase. The nonce of a piece consists of the stream's random
 * prefix, the number of the piece, and whether it is the last piece. So pieces that were changed, omitted, swapped or
 * cut off at the end do not decrypt (the STREAM construction, Hoang et al. 2015). The head of the file is authenticated
 * with each piece.
 */

const pieceBytes = 65_536;
const tagBytes = 16;
const prefixBytes = 7;
/** 2^17 · 8 · 128 bytes: 128 MiB for each guess. */
const cost = { N: 131_072, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };

export interface SealParameters {
  /** Base64. */
  readonly salt: string;
  readonly prefix: string;
}

export function newSealParameters(): SealParameters {
  return { salt: randomBytes(16).toString('base64'), prefix: randomBytes(prefixBytes).toString('base64') };
}

const derive = promisify<string, Buffer, number, typeof cost, Buffer>(scrypt);

export interface Seal {
  readonly passphrase: Sensitive;
  readonly parameters: SealParameters;
  /** Authenticated with every piece. */
  readonly head: Buffer;
}

interface Opened {
  readonly key: Buffer;
  readonly nonce: (number: number, isLast: boolean) => Buffer;
}

async function open({ passphrase, parameters }: Seal): Promise<Opened> {
  const key = await derive(passphrase.reveal(), Buffer.from(parameters.salt, 'base64'), 32, cost);
  const prefix = Buffer.from(parameters.prefix, 'base64');
  if (prefix.length !== prefixBytes) throw damaged();
  return {
    key,
    nonce: (number, isLast) => {
      const rest = Buffer.alloc(5);
      rest.writeUInt32BE(number);
      rest.writeUInt8(isLast ? 1 : 0, 4);
      return Buffer.concat([prefix, rest]);
    },
  };
}

/** Encrypts the content as a stream. */
export async function* sealed(seal: Seal, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { key, nonce } = await open(seal);
  const encrypt = (number: number, piece: Buffer, isLast: boolean): Buffer => {
    const cipher = createCipheriv('aes-256-gcm', key, nonce(number, isLast)).setAAD(seal.head);
    return Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
  };
  let number = 0;
  let last: Buffer | undefined;
  for await (const piece of inPieces(content, pieceBytes)) {
    if (last !== undefined) yield encrypt(number++, last, false);
    last = piece;
  }
  yield encrypt(number, last ?? Buffer.alloc(0), true);
}

/**
 * Decrypts the content as a stream. EXPORT_UNREADABLE: the passphrase is wrong, or the file was changed or is
 * incomplete.
 */
export async function* unsealed(seal: Seal, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { key, nonce } = await open(seal);
  const decrypt = (number: number, piece: Buffer, isLast: boolean): Buffer => {
    if (piece.length < tagBytes) throw damaged();
    const decipher = createDecipheriv('aes-256-gcm', key, nonce(number, isLast), { authTagLength: tagBytes });
    decipher.setAAD(seal.head).setAuthTag(piece.subarray(-tagBytes));
    try {
      return Buffer.concat([decipher.update(piece.subarray(0, -tagBytes)), decipher.final()]);
    } catch {
      throw number === 0 ? damaged('The passphrase is wrong, or the file was changed.') : damaged();
    }
  };
  let number = 0;
  let last: Buffer | undefined;
  for await (const piece of inPieces(content, pieceBytes + tagBytes)) {
    if (last !== undefined) yield decrypt(number++, last, false);
    last = piece;
  }
  yield decrypt(number, last ?? Buffer.alloc(0), true);
}

export function damaged(message = 'The export is incomplete, or was changed.'): AppError {
  return new AppError({ code: 'EXPORT_UNREADABLE', message: `${message} Nothing was imported.` });
}

/** Returns the same bytes in pieces of `size`; the last piece may be shorter. */
async function* inPieces(content: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of content) {
    parts.push(chunk);
    length += chunk.length;
    if (length < size) continue;
    const all = Buffer.concat(parts, length);
    let start = 0;
    for (; start + size <= all.length; start += size) yield all.subarray(start, start + size);
    parts = [all.subarray(start)];
    length = all.length - start;
  }
  if (length > 0) yield Buffer.concat(parts, length);
}
