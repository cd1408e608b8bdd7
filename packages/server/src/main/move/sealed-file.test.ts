import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Sensitive } from '@davit/base';
import { expect, test } from 'vitest';
import { sealed, unsealed } from './sealed-file.ts';

test('the format of exports stays as it was: recorded bytes are opened, and written again', async () => {
  const seal = {
    passphrase: new Sensitive('correct horse'),
    parameters: { salt: Buffer.alloc(16, 1).toString('base64'), prefix: Buffer.alloc(7, 2).toString('base64') },
    head: Buffer.from('head'),
  };
  const recorded = Buffer.from('Y9R1qgxwty9Kw91GLg08mQB24a6zK0TOnBFtzQ==', 'base64');
  const content = Buffer.from('hello export');
  expect(await buffer(unsealed(seal, Readable.from([recorded])))).toEqual(content);
  expect(await buffer(sealed(seal, Readable.from([content])))).toEqual(recorded);
});
