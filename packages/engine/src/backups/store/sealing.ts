import { openPiece, sealPieces, tagBytes, type StreamKey } from '@davit/base-node';
import { DriverError } from '@davit/drivers';

/*
 * The format of a stored backup: `DAVITBK1`, then pieces of at most 1 MiB, each as `length (4) | ciphertext | tag
 * (16)`, encrypted with AES-256-GCM under a key that only this backup has. The nonce of a piece contains its number and
 * whether it is the last one, so that missing, swapped or truncated pieces cannot be decrypted. No byte of a piece is
 * returned before the whole piece is authenticated.
 */

const magic = Buffer.from('DAVITBK1');
const pieceBytes = 1 << 20;
const lengthBytes = 4;

/** @param key 32 bytes, for this content only. */
export async function* sealed(content: AsyncIterable<Uint8Array>, key: Buffer): AsyncIterable<Buffer> {
  yield magic;
  for await (const piece of sealPieces(streamKey(key), content, pieceBytes)) {
    const length = Buffer.alloc(lengthBytes);
    length.writeUInt32BE(piece.length - tagBytes);
    yield Buffer.concat([length, piece]);
  }
}

/** Returns the decrypted content. Fails with BACKUP_DAMAGED at the first piece that differs from the original. */
export async function* opened(stored: AsyncIterable<Uint8Array>, key: Buffer): AsyncIterable<Buffer> {
  let number = 0;
  let isOver = false;
  for await (const bytes of piecesOf(stored)) {
    if (isOver) throw damaged('there is data after its end');
    const piece = openNext(key, bytes, number);
    number += 1;
    isOver = piece.isLast;
    yield piece.content;
  }
  if (!isOver) throw damaged('its end is missing');
}

/** Returns the stored pieces, without their lengths. */
async function* piecesOf(stored: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  let rest = Buffer.alloc(0);
  let begin = magic.length;
  for await (const bytes of stored) {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= begin + lengthBytes) {
      if (begin > 0 && !rest.subarray(0, begin).equals(magic)) throw damaged('it does not have the header of a backup');
      const size = rest.readUInt32BE(begin);
      if (size > pieceBytes) throw damaged('a piece has an impossible length');
      const end = begin + lengthBytes + size + tagBytes;
      if (rest.length < end) break;
      yield rest.subarray(begin + lengthBytes, end);
      rest = rest.subarray(end);
      begin = 0;
    }
  }
  if (rest.length > 0) throw damaged('its end is missing');
}

function streamKey(key: Buffer): StreamKey {
  return {
    key,
    nonce: ({ number, isLast }) => {
      const nonce = Buffer.alloc(12);
      nonce.writeBigUInt64BE(BigInt(number), 0);
      nonce.writeUInt32BE(isLast ? 1 : 0, 8);
      return nonce;
    },
  };
}

// Whether a piece is the last one is found by trying both names: a piece before a cut must not pass as the last one.
function openNext(key: Buffer, piece: Buffer, number: number): { readonly content: Buffer; readonly isLast: boolean } {
  for (const isLast of [false, true]) {
    const content = openPiece(streamKey(key), piece, { number, isLast });
    if (content !== null) return { content, isLast };
  }
  throw damaged(`piece ${number} differs from what was stored, or was stored with another key`);
}

function damaged(why: string): DriverError {
  return new DriverError({ cause: 'BACKUP_DAMAGED', message: `The stored backup cannot be read: ${why}.` });
}
