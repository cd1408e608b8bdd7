import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError, type Sensitive } from '@davit/base';
import { inPieces, openPiece, sealPieces, tagBytes, type StreamKey } from '@davit/base-node';

/*
 * A stream that is encrypted with a passphrase, in pieces of 64 KiB (see `sealed-pieces.ts` of base-node). The key is
 * derived from the passphrase by scrypt. The nonce of a piece begins with the stream's random prefix. The head of the
 * file is authenticated with each piece.
 */

const pieceBytes = 65_536;
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

async function streamKey({ passphrase, parameters, head }: Seal): Promise<StreamKey> {
  const key = await derive(passphrase.reveal(), Buffer.from(parameters.salt, 'base64'), 32, cost);
  const prefix = Buffer.from(parameters.prefix, 'base64');
  if (prefix.length !== prefixBytes) throw damaged();
  return {
    key,
    head,
    nonce: ({ number, isLast }) => {
      const rest = Buffer.alloc(5);
      rest.writeUInt32BE(number);
      rest.writeUInt8(isLast ? 1 : 0, 4);
      return Buffer.concat([prefix, rest]);
    },
  };
}

/** Encrypts the content as a stream. */
export async function* sealed(seal: Seal, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* sealPieces(await streamKey(seal), content, pieceBytes);
}

/**
 * Decrypts the content as a stream. EXPORT_UNREADABLE: the passphrase is wrong, or the file was changed or is
 * incomplete.
 */
export async function* unsealed(seal: Seal, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const key = await streamKey(seal);
  const decrypt = (number: number, piece: Buffer, isLast: boolean): Buffer => {
    const opened = openPiece(key, piece, { number, isLast });
    if (opened !== null) return opened;
    throw number === 0 && piece.length >= tagBytes ? damaged('The passphrase is wrong, or the file was changed.') : damaged();
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
