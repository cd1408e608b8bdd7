import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { opened, sealed } from './sealing.ts';

test('the format of stored backups stays as it was: recorded bytes are opened, and written again', async () => {
  const key = Buffer.alloc(32, 7);
  const recorded = Buffer.from('REFWSVRCSzEAAAAMWC3VDFtggGZO0AAy3PH+dzxMNlnKBAO5RW1u2w==', 'base64');
  const content = Buffer.from('hello backup');
  expect(await buffer(opened(Readable.from([recorded]), key))).toEqual(content);
  expect(await buffer(sealed(Readable.from([content]), key))).toEqual(recorded);
});
