import { randomBytes } from 'node:crypto';
import { asyncProperty, array, assert, integer, property, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { inPieces, openPiece, sealPieces, tagBytes, type StreamKey } from './sealed-pieces.ts';

const nonce: StreamKey['nonce'] = ({ number, isLast }) => {
  const made = Buffer.alloc(12);
  made.writeUInt32BE(number);
  made.writeUInt8(isLast ? 1 : 0, 4);
  return made;
};
const streamKey: StreamKey = { key: randomBytes(32), nonce, head: Buffer.from('head') };

async function* chunks(all: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const one of all) yield one;
}

async function sealed(content: readonly Uint8Array[], size: number): Promise<Buffer[]> {
  return Array.fromAsync(sealPieces(streamKey, chunks(content), size));
}

test('content of any length, in chunks of any size, comes back from pieces of one size', async () => {
  await assert(
    asyncProperty(array(uint8Array({ maxLength: 40 })), integer({ min: 1, max: 33 }), async (content, size) => {
      const pieces = await sealed(content, size);
      const last = pieces.length - 1;
      const opened = pieces.map((piece, number) => openPiece(streamKey, piece, { number, isLast: number === last }));
      expect(Buffer.concat(opened.map((piece) => piece ?? Buffer.from('not opened')))).toEqual(Buffer.concat(content));
      for (const piece of pieces.slice(0, -1)) expect(piece).toHaveLength(size + tagBytes);
    }),
  );
});

test('a piece opens only with its number, its end, its head and its key, and unchanged', async () => {
  const pieces = await sealed([randomBytes(100)], 40);
  expect(pieces).toHaveLength(3);
  const [first = Buffer.alloc(0), second = Buffer.alloc(0), third = Buffer.alloc(0)] = pieces;
  expect(openPiece(streamKey, second, { number: 1, isLast: false })).toHaveLength(40);
  expect(openPiece(streamKey, second, { number: 2, isLast: false })).toBeNull();
  // A file that is cut off before its last piece.
  expect(openPiece(streamKey, second, { number: 1, isLast: true })).toBeNull();
  expect(openPiece(streamKey, third, { number: 2, isLast: false })).toBeNull();
  expect(openPiece({ ...streamKey, head: Buffer.from('tail') }, first, { number: 0, isLast: false })).toBeNull();
  expect(openPiece({ ...streamKey, key: randomBytes(32) }, first, { number: 0, isLast: false })).toBeNull();
  expect(openPiece(streamKey, first.subarray(0, tagBytes - 1), { number: 0, isLast: false })).toBeNull();
  assert(
    property(integer({ min: 0, max: first.length * 8 - 1 }), (bit) => {
      const changed = Buffer.from(first);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return openPiece(streamKey, changed, { number: 0, isLast: false }) === null;
    }),
  );
});

test('pieces have the given size, but for the last one', async () => {
  const pieces = await Array.fromAsync(inPieces(chunks([Buffer.alloc(5), Buffer.alloc(12), Buffer.alloc(3)]), 8));
  expect(pieces.map(({ length }) => length)).toEqual([8, 8, 4]);
});
