import { expect, test } from 'vitest';
import { ObjectLimit } from './object-limit.ts';

function pushOf(objects: number, ending = '0000'): Buffer {
  const header = Buffer.alloc(12);
  header.write('PACK');
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(objects, 8);
  const text = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/main\0report-status`;
  return Buffer.concat([
    Buffer.from(`${(text.length + 4).toString(16).padStart(4, '0')}${text}${ending}`),
    header,
    Buffer.alloc(50, 7),
  ]);
}

/** Returns what passes, if the push arrives in chunks of this many bytes. */
async function pass(push: Buffer, chunkBytes: number): Promise<{ passed: Buffer; refusal: string | null }> {
  const limit = new ObjectLimit(100);
  for (let at = 0; at < push.length; at += chunkBytes) limit.write(push.subarray(at, at + chunkBytes));
  limit.end();
  return { passed: Buffer.concat(await limit.toArray()), refusal: limit.refusal };
}

test.each([1, 3, 7, 1000])(
  'a push within the limit passes as it is, in chunks of %i bytes; a larger one is refused',
  async (chunk) => {
    const small = pushOf(100);
    expect(await pass(small, chunk)).toEqual({ passed: small, refusal: null });
    const { passed, refusal } = await pass(pushOf(101), chunk);
    expect(passed.length > small.length - 51).toBe(false);
    expect(refusal).toContain('101 objects');
  },
);

test.each(['0000', '0001', '0002', '00040000'])(
  'no end of the list of packets that git accepts lets a push pass the limit: %s',
  async (ending) => {
    for (const chunk of [1, 1000]) {
      const small = pushOf(100, ending);
      expect(await pass(small, chunk)).toEqual({ passed: small, refusal: null });
      expect((await pass(pushOf(101, ending), chunk)).refusal).toContain('101 objects');
    }
  },
);

test('a request that is no push passes as it is: git says what is wrong with it', async () => {
  for (const text of ['', '0000', '0000abc', '0003', 'zzzz and more', '0001 0002 0000PACK'])
    expect(await pass(Buffer.from(text), 2)).toEqual({ passed: Buffer.from(text), refusal: null });
});
