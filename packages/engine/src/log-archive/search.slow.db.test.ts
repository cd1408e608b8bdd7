import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LogPage, LogSearch } from '../port/logs.ts';
import { insertServiceLog } from '../store/logs.ts';
import { LogArchive } from './archive.ts';
import { LogSearcher } from './search.ts';
import { lineId } from './segment.ts';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const service = randomUUID();
const releases = [randomUUID(), randomUUID()];
const total = 45_000;
const start = Date.UTC(2026, 0, 1);
const insertOld = statement<{ id: string }>(
  'test_insert_line_of_old_version',
  `insert into service_log (service_id, instance_id, instance_name, stream, message, source_at, at)
   values ($1, 'web', 'web', 'stdout', 'a line of the version before', 'x', clock_timestamp()) returning entry_id as id`,
);

let db: TestDatabase;
let searcher: LogSearcher;

/** The message of a line: every 10,000th is an error, and the others have a random-looking id. */
function message(index: number): string {
  if (index % 10_000 === 5_000) return `ERROR Payment ${index} failed: Straße closed`;
  const id = Math.imul(index + 1, 0x9e_37_79_b1) >>> 0;
  return `{"level":"${index % 2 === 0 ? 'info' : 'debug'}","request":"${id.toString(16).padStart(8, '0')}","index":${index}}`;
}

beforeAll(async () => {
  db = await createTestDatabase();
  searcher = new LogSearcher();
  for (let first = 0; first < total; first += 5_000) {
    const instance = `web-${(first / 5_000) % 2}`;
    const rows = Array.from({ length: 5_000 }, (_, index) => ({
      stream: 'stdout',
      message: message(first + index),
      source_at: new Date(start + (first + index) * 1000).toISOString(),
    }));
    const release = releases[first < 20_000 ? 0 : 1];
    await db.database.run(insertServiceLog, [service, release, instance, instance, JSON.stringify(rows)]);
  }
  await new LogArchive({ database: db.database, log: silent }).moveAll();
}, 60_000);
afterAll(() => db.drop());

async function page(search: Partial<LogSearch>, signal = new AbortController().signal): Promise<LogPage> {
  const found = await searcher.search(db.database, service, { limit: 100, ...search }, signal);
  if (found === null) throw new Error('the line is not kept');
  return found;
}

/** Returns the indexes of the lines of a page. */
function indexes({ lines }: Pick<LogPage, 'lines'>): number[] {
  return lines.map(({ number }) => number - 1);
}

test('pages lead from the newest line to the oldest and back, without a gap', async () => {
  const back: number[] = [];
  let found = await page({ limit: 1000 });
  for (;;) {
    back.unshift(...indexes(found));
    if (found.older === null || found.lines.length === 0) break;
    found = await page({ limit: 1000, before: found.older });
  }
  expect(back).toEqual(Array.from({ length: total }, (_, index) => index));
  const forth: number[] = [];
  let after = 0;
  for (;;) {
    const next = await page({ limit: 1000, after });
    if (next.lines.length === 0) break;
    forth.push(...indexes(next));
    after = next.newer ?? 0;
  }
  expect(forth).toEqual(back);
});

test('a text is found in all lines, in any case unless asked otherwise', async () => {
  expect(indexes(await page({ text: 'payment' }))).toEqual([5_000, 15_000, 25_000, 35_000]);
  expect(indexes(await page({ text: 'payment', matchCase: true }))).toEqual([]);
  expect(indexes(await page({ text: 'straße CLOSED' }))).toHaveLength(4);
  expect(indexes(await page({ text: 'Payment', limit: 3 }))).toEqual([15_000, 25_000, 35_000]);
  expect(await page({ text: 'nowhere' })).toEqual({ lines: [], older: null, newer: null });
  const id = (Math.imul(1235, 0x9e_37_79_b1) >>> 0).toString(16).padStart(8, '0');
  expect(indexes(await page({ text: `"${id}"` }))).toEqual([1234]);
  expect(indexes(await page({ text: '.' }))).toEqual([]);
});

test('an expression is matched with each line alone', async () => {
  expect(indexes(await page({ expression: '^error payment (1|2)5000 .*closed$' }))).toEqual([15_000, 25_000]);
  expect(indexes(await page({ expression: 'failed[^]*\\n' }))).toEqual([]);
  expect(indexes(await page({ expression: '"index":1234[56]\\}' }))).toEqual([12_345, 12_346]);
});

test('lines are selected by time, instance, release and level', async () => {
  const errors = { text: 'payment' };
  expect(indexes(await page({ ...errors, from: start + 15_000_000, to: start + 35_000_000 }))).toEqual([15_000, 25_000]);
  expect(indexes(await page({ ...errors, instance: 'web-0' }))).toEqual([]);
  expect(indexes(await page({ ...errors, instance: 'web-1' }))).toHaveLength(4);
  expect(indexes(await page({ ...errors, release: releases[0] }))).toEqual([5_000, 15_000]);
  expect(indexes(await page({ level: 'WARNING' }))).toEqual([5_000, 15_000, 25_000, 35_000]);
  const { lines } = await page({ level: 'INFO', limit: 2 });
  expect(lines.map(({ level, stream }) => [level, stream])).toEqual([
    ['INFO', 'stdout'],
    ['INFO', 'stdout'],
  ]);
});

test('a hit comes with the lines around it, also at the edge of what is compressed together', async () => {
  for (const index of [0, 999, 1000, 15_999, 16_000, 31_999, 32_000, total - 1]) {
    const { lines } = await page({ text: `"index":${index}}`, context: 3 });
    const [hit] = lines;
    const wanted = (from: number, to: number): number[] =>
      Array.from({ length: Math.max(0, Math.min(to, total) - Math.max(from, 0)) }, (_, at) => Math.max(from, 0) + at);
    expect({
      hits: indexes({ lines }),
      before: hit?.before.map((one) => one.number - 1),
      after: hit?.after.map((one) => one.number - 1),
    }).toEqual({
      hits: [index],
      before: wanted(index - 3, index),
      after: wanted(index + 1, index + 4),
    });
  }
});

test('a link leads to a line, with the lines around it', async () => {
  for (const index of [0, 1, 20_000, 31_999, 32_000, total - 1]) {
    const found = await page({ line: lineId(service, index + 1), limit: 5 });
    expect(indexes(found)).toEqual([-2, -1, 0, 1, 2].map((step) => index + step).filter((one) => one >= 0 && one < total));
  }
  const signal = new AbortController().signal;
  for (const id of [lineId(service, 900_000), lineId(randomUUID(), 5), randomUUID()])
    expect(await searcher.search(db.database, service, { line: id, limit: 5 }, signal)).toBeNull();
});

test('lines that an earlier version stored are found by their ids', async () => {
  const other = randomUUID();
  const { id } = await db.database.one(insertOld, [other]);
  const found = await searcher.search(db.database, other, { line: id, limit: 5 }, new AbortController().signal);
  expect(found?.lines.map((line) => [line.id, line.message])).toEqual([[id, 'a line of the version before']]);
});

test('another service finds nothing', async () => {
  const found = await searcher.search(db.database, randomUUID(), { text: 'payment', limit: 10 }, new AbortController().signal);
  expect(found?.lines).toEqual([]);
});

test('an expression that takes forever fails, and does not stop the process meanwhile', async () => {
  const slow = new LogSearcher({ partMilliseconds: 5_000 });
  let ticks = 0;
  const ticking = setInterval(() => (ticks += 1), 20);
  const search = { expression: '^(.+)+\\u0001$', limit: 10 };
  await expect(slow.search(db.database, service, search, new AbortController().signal)).rejects.toMatchObject({
    code: 'EXPRESSION_TOO_SLOW',
  });
  clearInterval(ticking);
  expect(ticks).toBeGreaterThan(5);
  const next = await slow.search(db.database, service, { text: 'payment', limit: 10 }, new AbortController().signal);
  expect(next?.lines).toHaveLength(4);
});

test('a wrong expression is refused', async () => {
  await expect(page({ expression: '(' })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
});

test('a search ends when its client is gone, and others get its place', async () => {
  const busy = new LogSearcher({ partMilliseconds: 600_000 });
  const forever = { expression: '^(.+)+\\u0001$', limit: 10 };
  const clients = Array.from({ length: 22 }, () => new AbortController());
  const ends = clients.map(({ signal }) => busy.search(db.database, service, forever, signal).catch((error: unknown) => error));
  const refused = busy.search(db.database, service, { limit: 1 }, new AbortController().signal);
  await expect(refused).rejects.toMatchObject({ code: 'TOO_MANY_SEARCHES' });
  for (const client of clients) client.abort();
  await Promise.all(ends);
  const found = await busy.search(db.database, service, { text: 'payment', limit: 10 }, new AbortController().signal);
  expect(found?.lines).toHaveLength(4);
});

test('a page ends after its time with what was found, and the next one continues', async () => {
  const hasty = new LogSearcher({ pageMilliseconds: 0 });
  const found: number[] = [];
  let before: number | undefined;
  let pages = 0;
  for (;;) {
    const one: LogPage | null = await hasty.search(
      db.database,
      service,
      { expression: 'Payment|Nothing', limit: 10, before },
      new AbortController().signal,
    );
    pages += 1;
    found.unshift(...(one === null ? [] : indexes(one)));
    if (one === null || one.older === null) break;
    before = one.older;
  }
  expect(found).toEqual([5_000, 15_000, 25_000, 35_000]);
  expect(pages).toBeGreaterThan(3);
});

test('a search may end at any moment, also while it decompresses', async () => {
  for (let milliseconds = 0; milliseconds < 60; milliseconds += 1) {
    const signal = AbortSignal.timeout(milliseconds);
    await searcher.search(db.database, service, { expression: '#', limit: 10 }, signal).catch(() => undefined);
  }
  expect(indexes(await page({ text: 'payment' }))).toHaveLength(4);
});
