import { createCipheriv, createDecipheriv } from 'node:crypto';

/*
 * Encrypts a stream in pieces with AES-256-GCM, so that each piece is authenticated before it is used (the STREAM
 * construction, Hoang et al. 2015). The nonce of a piece contains its number and whether it is the last one. Therefore
 * pieces that were changed, omitted, swapped or cut off at the end do not decrypt. How pieces are stored, and where the
 * key comes from, is up to the file format.
 */

export const tagBytes = 16;

export interface PieceName {
  /** Number of the piece, from 0. */
  readonly number: number;
  readonly isLast: boolean;
}

/** The key of one stream. It must never encrypt another stream with the same nonces. */
export interface StreamKey {
  /** 32 bytes. */
  readonly key: Buffer;
  /** Returns the nonce of a piece: 12 bytes, different for each name. */
  readonly nonce: (name: PieceName) => Buffer;
  /** Data that is authenticated with every piece, but not stored. */
  readonly head?: Buffer;
}

/**
 * Encrypts content of any length. Yields pieces of `pieceBytes` (the last one may be shorter, or empty), each followed
 * by its tag of `tagBytes`.
 */
export async function* sealPieces(
  { key, nonce, head }: StreamKey,
  content: AsyncIterable<Uint8Array>,
  pieceBytes: number,
): AsyncGenerator<Buffer> {
  const seal = (piece: Buffer, name: PieceName): Buffer => {
    const cipher = createCipheriv('aes-256-gcm', key, nonce(name));
    if (head !== undefined) cipher.setAAD(head);
    return Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
  };
  let number = 0;
  // One piece is always held back, because only the last one is marked as the last.
  let held: Buffer | undefined;
  for await (const piece of inPieces(content, pieceBytes)) {
    if (held !== undefined) yield seal(held, { number: number++, isLast: false });
    held = piece;
  }
  yield seal(held ?? Buffer.alloc(0), { number, isLast: true });
}

/**
 * Decrypts one piece with its tag. Returns null if it is not the piece of that name: it was changed, has another
 * position, or was encrypted with another key.
 */
export function openPiece({ key, nonce, head }: StreamKey, piece: Buffer, name: PieceName): Buffer | null {
  if (piece.length < tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, nonce(name), { authTagLength: tagBytes });
  decipher.setAuthTag(piece.subarray(-tagBytes));
  if (head !== undefined) decipher.setAAD(head);
  const content = decipher.update(piece.subarray(0, -tagBytes));
  try {
    return Buffer.concat([content, decipher.final()]);
  } catch {
    return null;
  }
}

/** Returns the same bytes in pieces of `size`; the last piece may be shorter. */
export async function* inPieces(content: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
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
