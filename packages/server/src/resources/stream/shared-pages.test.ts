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

/** Returns pages, and the numbers of the events that were read for them. */
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
  return { read, text };
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

test('a stream that is behind gets its text, and the newest is still shared', async () => {
  const { read, text } = makePages();
  const [former, newest] = [batchOf(1, row(1, 'shop')), batchOf(2, row(2, 'shop'))];
  for (const batch of [newest, former, newest]) await text(batch, all);
  expect(read).toEqual([2, 1]);
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
