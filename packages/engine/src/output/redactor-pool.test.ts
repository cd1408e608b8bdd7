import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DatabaseUnavailable } from '@davit/db';
import { array, assert, asyncProperty, boolean, nat, record, subarray } from 'fast-check';
import { expect, test, vi } from 'vitest';
import { RedactorPool } from './redactor-pool.ts';

const mebibyte = 1024 * 1024;
const secret = (): string => randomBytes(3072).toString('base64');

/** Secrets by id, as the hook of the engine gives them. */
function vault(secrets: ReadonlyMap<string, string>) {
  const reads: string[][] = [];
  return {
    reads,
    secrets: (ids: readonly string[]) => {
      reads.push([...ids]);
      return Promise.resolve(new Map(ids.flatMap((id) => (secrets.has(id) ? [[id, secrets.get(id) ?? '']] : []))));
    },
  };
}

/** Collects garbage first. What it finds is freed in the background, so one look may see some of it. */
function memory(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().arrayBuffers;
}

test('the redactors of 16 services with 100 secrets of 4 KiB each stay below the limit, and hide every value', async () => {
  const services = Array.from({ length: 16 }, (_, service) =>
    Array.from({ length: 100 }, (_none, number) => [`${service}/${number}`, secret()] as const),
  );
  const pool = new RedactorPool(vault(new Map(services.flat())), 8 * mebibyte);
  const before = memory();
  for (const round of [0, 1]) {
    for (const values of services.slice(round * 12)) {
      const redact = await pool.open(values.map(([id]) => id))();
      for (const [, value] of values.slice(0, 3)) expect(redact(`> ${value} <`)).toBe('> [REDACTED] <');
    }
    expect(pool.bytes).toBeLessThanOrEqual(8 * mebibyte);
  }
  // Without a limit, these are some 34 MB.
  await vi.waitFor(() => expect(memory() - before).toBeLessThan(22 * 1_000_000), { timeout: 30_000, interval: 200 });
}, 120_000);

test('services with the same secrets share one redactor, in whichever order they name them', async () => {
  const hooks = vault(
    new Map([
      ['a', 'value of a'],
      ['b', 'value of b'],
    ]),
  );
  const pool = new RedactorPool(hooks);
  const first = await pool.open(['a', 'b'])();
  expect(pool.open(['b', 'a', 'a'])()).toBe(first);
  expect(hooks.reads).toHaveLength(1);
});

test('whatever the limit and the order of lines, no line shows a secret of its service', async () => {
  const values = new Map(Array.from({ length: 8 }, (_, id) => [String(id), secret().slice(0, 40 + 400 * id)]));
  const service = subarray([...values.keys()]);
  const lines = array(record({ service: nat({ max: 3 }), secret: nat(), isAwaited: boolean() }), {
    maxLength: 20,
  });
  await assert(
    asyncProperty(array(service, { minLength: 4, maxLength: 4 }), lines, nat({ max: 100_000 }), async (sets, printed, most) => {
      const pool = new RedactorPool(vault(values), most);
      const open = sets.map((ids) => pool.open(ids));
      const pending = printed.map(async ({ service: index, secret: which, isAwaited }) => {
        const ids = sets[index] ?? [];
        const value = values.get(ids[which % ids.length] ?? '') ?? 'nothing secret';
        const requested = open[index]?.();
        if (isAwaited) await Promise.resolve();
        const text = (await requested)?.(`> ${value} <`);
        expect(text).toBe(ids.length === 0 ? '> nothing secret <' : '> [REDACTED] <');
      });
      await Promise.all(pending);
    }),
    { numRuns: 60 },
  );
}, 60_000);

test('a secret that was deleted since its redactor went hides all lines, and one that cannot be read rejects', async () => {
  const stored = new Map([
    ['a', 'value of a'],
    ['b', 'value of b'],
    ['c', 'value of c'],
  ]);
  const hooks = vault(stored);
  const pool = new RedactorPool(hooks, 1);
  const use = pool.open(['a', 'b']);
  expect((await use())('value of b')).toBe('[REDACTED]');
  await pool.open(['c'])();
  stored.delete('b');
  expect((await use())('> value of b <')).toMatch(/^\[REDACTED\] A secret .* is deleted/);
  hooks.secrets = () => Promise.reject(new DatabaseUnavailable(undefined));
  const broken = new RedactorPool(hooks).open(['a']);
  await expect(broken()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  await expect(broken()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
});
