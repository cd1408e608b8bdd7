import { expect, test } from 'vitest';
import type { Batch } from './hub.ts';
import type { Snapshot } from './position.ts';
import { keyOf, SharedPages } from './shared-pages.ts';
import type { EventRow } from './store.ts';
import type { Watch } from './watch.ts';

const snapshot: Snapshot = { xmin: 1, xmax: 1, underway: [] };

const row = (sequence: number, service_id: string): EventRow => ({
  sequence,
  organization_id: 'organization',
  project_id: 'project',
  environment_id: 'environment',
  mode: 'DEVELOPMENT',
  service_id,
  deployment_id: null,
  kind: 'STEP',
  fact: {},
  at: '2026-01-01T00:00:00Z',
});

const batchOf = (serial: number, ...events: readonly EventRow[]): Batch => ({
  from: { snapshot, serial: serial - 1 },
  to: { snapshot, serial },
  events,
});

const all: Watch = { organizationId: 'organization', kinds: new Set(['STEP'] as const) };
const shopOnly: Watch = { ...all, serviceIds: ['shop'] };

/** Returns pages, their texts, and the numbers of the events that were read for them. */
function makePages(textOf: (row: EventRow) => string = ({ sequence }) => `${sequence};`) {
  const read: number[] = [];
  const pages = new SharedPages({
    texts: async function* (_watch, one) {
      read.push(one.sequence);
      yield await Promise.resolve({ text: textOf(one), position: { seen: snapshot } });
    },
    environmentTexts: async function* () {
      yield await Promise.resolve('state;');
    },
  });
  const text = async (batch: Batch, watch: Watch): Promise<string | undefined> =>
    (await pages.text(batch, watch, keyOf(watch) ?? ''))?.toString();
  return { read, text, pages };
}

test('streams that watch the same share one text, others get their own', async () => {
  const { read, text } = makePages();
  const batch = batchOf(1, row(1, 'shop'), row(2, 'mail'));
  expect(await Promise.all([text(batch, all), text(batch, { ...all }), text(batch, shopOnly)])).toEqual([
    'state;1;2;',
    'state;1;2;',
    'state;1;',
  ]);
  expect(read.toSorted((one, other) => one - other)).toEqual([1, 1, 2]);
});

test('a stream that is behind writes its own events, and the newest are still shared', async () => {
  const { read, text } = makePages();
  const [former, newest] = [batchOf(1, row(1, 'shop')), batchOf(2, row(2, 'shop'))];
  const texts: (string | undefined)[] = [];
  for (const batch of [newest, former, newest]) texts.push(await text(batch, all));
  expect(texts).toEqual(['state;2;', undefined, 'state;2;']);
  expect(read).toEqual([2]);
});

test('of many streams that watch different things only the first share texts', async () => {
  const { text } = makePages();
  const batch = batchOf(1, row(1, 'shop'));
  const watchOf = (index: number): Watch => ({ ...all, serviceIds: ['shop', `other ${index}`] });
  // Texts of streams that nothing concerns take no memory.
  for (let index = 0; index < 100; index += 1) expect(await text(batch, { ...all, serviceIds: [`other ${index}`] })).toBe('');
  for (let index = 0; index < 64; index += 1) expect(await text(batch, watchOf(index))).toBe('state;1;');
  expect(await text(batch, watchOf(64))).toBeUndefined();
  expect(await text(batch, watchOf(0))).toBe('state;1;');
  expect(await text(batchOf(2, row(2, 'shop')), watchOf(64))).toBe('state;2;');
});

test('once there are no streams, nothing of the newest texts is kept', async () => {
  const { read, text, pages } = makePages();
  const batch = batchOf(1, row(1, 'shop'));
  await text(batch, all);
  pages.clear();
  await text(batch, all);
  expect(read).toEqual([1, 1]);
});

test('a row with many lines is left to the streams before all of its text is made', async () => {
  let lines = 0;
  const pages = new SharedPages({
    texts: async function* () {
      const line = { text: 'x'.repeat(100_000), position: { seen: snapshot } };
      for (; lines < 1000; lines += 1) yield await Promise.resolve(line);
    },
    environmentTexts: async function* () {
      yield await Promise.resolve('');
    },
  });
  expect(await pages.text(batchOf(1, row(1, 'shop')), all, 'all')).toBeNull();
  expect(lines).toBeLessThan(10);
});

test('a read that failed is tried again, and a text too long for one write is left to the streams', async () => {
  let fails = true;
  const { text } = makePages(() => {
    if (fails) throw new Error('the database is away');
    return 'x'.repeat(300_000);
  });
  const batch = batchOf(1, row(1, 'shop'));
  await expect(text(batch, all)).rejects.toThrow('the database is away');
  fails = false;
  expect(await text(batch, all)).toBeUndefined();
});

test('the stream of a deployment shares nothing', () => {
  expect(keyOf({ ...all, deploymentId: 'deployment' })).toBeNull();
});
