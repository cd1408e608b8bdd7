import { randomUUID } from 'node:crypto';
import { DatabaseUnavailable, statement, type Database } from '@davit/db';
import { createFakeCluster, type ClusterDriver, type Instance, type LogLine, type LogPosition } from '@davit/drivers';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { allKinds } from '../kinds/index.ts';
import { Kinds } from '../kinds/kinds.ts';
import type { EngineParts } from '../shared/parts.ts';
import { forgetLogOrigins, forgetLogPositions, insertServiceLog, trimServiceLogs } from '../store/logs.ts';
import { config, instance as someInstance } from '../testing/config.ts';
import { LogArchive } from '../log-archive/archive.ts';
import { RedactorPool } from './redactor-pool.ts';
import { LogCollector } from './log-collector.ts';

const stored = statement<{ message: string }>(
  'test_stored_lines',
  'select message from service_log where service_id = $1 order by id',
);

const insertRelease = statement(
  'test_insert_release',
  `insert into release (id, organization_id, environment_id, service_id, config, config_hash, created_by)
   values ($1, $2, $2, $2, $3::jsonb, '', '')`,
);
const positions = statement<{ instance_id: string; is_recent: boolean }>(
  'test_log_positions',
  `select instance_id, followed_at > clock_timestamp() - interval '1 hour' as is_recent from log_position order by instance_id`,
);
const age = statement('test_age_log_positions', `update log_position set followed_at = followed_at - interval '31 days'`);
const ageOrigins = statement(
  'test_age_log_origins',
  `update log_origin set followed_at = followed_at - make_interval(days => $1) where instance_id = $2`,
);
const origins = statement<{ instance_id: string; origin: string; is_recent: boolean }>(
  'test_log_origins',
  `select instance_id, origin, followed_at > clock_timestamp() - interval '1 hour' as is_recent from log_origin order by instance_id, origin`,
);
/** Inserts a line as a program of the previous version does. */
const insertOldLine = statement(
  'test_insert_old_line',
  `insert into service_log (service_id, instance_id, instance_name, stream, message, source_at, at)
   values ($1, $2, '', 'stdout', $3, $4::text, $4::text::timestamptz)`,
);

/** One reading of the output of an instance. */
interface Reading {
  readonly position: LogPosition | null;
  readonly since: string | null;
  readonly signal: AbortSignal;
  /** Returns a promise if the caller must not read on until it resolves. */
  print(text: string, origin?: string): Promise<void> | undefined | void;
  /** Ends the connection. */
  cut(error?: Error): void;
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let db: TestDatabase;
let collector: LogCollector;
let readings: Reading[];
/** Called before each write. If it throws, the write fails with that error. */
let onWrite: () => void;
let instance: Instance;
let minute: number;

beforeEach(async () => {
  db = await createTestDatabase();
  readings = [];
  minute = 0;
  onWrite = () => undefined;
  instance = someInstance({ environment: randomUUID(), service: randomUUID(), release: randomUUID() });
  const cluster: ClusterDriver = { ...createFakeCluster().cluster, followLogs };
  const database = {
    one: db.database.one.bind(db.database),
    run: async (...call: Parameters<Database['run']>) => {
      onWrite();
      return db.database.run(...call);
    },
  };
  const some = {
    database,
    drivers: { here: { cluster } },
    kinds: new Kinds(allKinds),
    redactors: new RedactorPool({ secrets: () => Promise.resolve(new Map()) }),
    settings: { logLinesPerSecond: 100 },
    archive: new LogArchive({ database: db.database, log: silent }),
    log: silent,
  };
  const parts = some as unknown as EngineParts; // oxlint-disable-line typescript/no-unsafe-type-assertion -- all that is looked at
  collector = new LogCollector(parts, 'here', {
    retryMilliseconds: 1,
    hangMilliseconds: 1,
    noteMilliseconds: 5,
    reportMilliseconds: 20,
  });
});

afterEach(async () => {
  await collector.stop();
  await db.drop();
});

function followLogs(
  _id: string,
  position: LogPosition | null,
  onLine: (line: LogLine) => Promise<void> | undefined | void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    readings.push({
      position,
      since: position?.at ?? null,
      signal,
      print: (text, origin) =>
        onLine({ stream: 'stdout', text, timestamp: timeOf((minute += 1)), ...(origin !== undefined && { origin }) }),
      cut: (error) => (error === undefined ? resolve() : reject(error)),
    });
  });
}

const timeOf = (minutes: number): string =>
  new Date(Date.UTC(2026, 0, 1, 0, minutes)).toISOString().replace('.000Z', '.000000000Z');
const follow = (one: Instance = instance, term?: AbortSignal): void => collector.follow(one, config(), term);
const linesOf = async (service: string): Promise<string[]> =>
  (await db.database.many(stored, [service])).map(({ message }) => message);
const lines = (): Promise<string[]> => linesOf(instance.service);
const has = (...wanted: string[]): Promise<void> => vi.waitFor(async () => expect(await lines()).toEqual(wanted), 10_000);

/** Waits until the reading with this number exists. */
function reading(number: number, one: Instance = instance): Promise<Reading> {
  return vi.waitFor(() => {
    follow(one);
    const found = readings[number - 1];
    if (found === undefined) throw new Error(`there are ${readings.length} readings`);
    return found;
  }, 10_000);
}

test.each([undefined, new Error('the connection ended')])(
  'what still runs is read on when its reading has ended (%s)',
  async (error) => {
    const first = await reading(1);
    follow();
    void first.print('one');
    first.cut(error);
    const second = await reading(2);
    expect(second.since).toBe(timeOf(1));
    void second.print('two');
    await has('one', 'two');
    expect(readings).toHaveLength(2);
  },
);

test('what has ended is read to its end once, until it is started again', async () => {
  const ended: Instance = { ...instance, state: 'EXITED' };
  const first = await reading(1, ended);
  first.cut(new Error('the connection ended'));
  const second = await reading(2, ended);
  second.cut();
  const third = await reading(3, { ...instance, startedAt: '2026-01-01T01:00:00Z' });
  expect(readings).toHaveLength(3);
  void third.print('again');
  await has('again');
});

test('a reading that hangs when the instance lives anew gives way', async () => {
  const first = await reading(1);
  void first.print('before');
  const second = await reading(2, { ...instance, startedAt: '2026-01-01T01:00:00Z' });
  expect(first.signal.aborted).toBe(true);
  void second.print('after');
  await has('before', 'after');
});

test('where there are several that print as one instance, each is read on after its own last line', async () => {
  const first = await reading(1);
  expect(first.position).toEqual({ at: null, origins: {} });
  void first.print('start A', 'a');
  await has('start A');
  void first.print('stopping A', 'a');
  void first.print('start B', 'b');
  void first.print('stop A', 'a');
  await has('start A', 'stopping A', 'start B', 'stop A');
  first.cut();
  const second = await reading(2);
  expect(second.position).toEqual({ at: null, origins: { a: timeOf(4), b: timeOf(3) } });
  // The clock of this node is behind.
  minute = 0;
  void second.print('start C', 'c');
  await has('start A', 'stopping A', 'start B', 'stop A', 'start C');
  second.cut();
  expect((await reading(3)).position).toEqual({ at: null, origins: { a: timeOf(4), b: timeOf(3), c: timeOf(1) } });
});

test('where there were very many, those that are not remembered are not told from their start', async () => {
  const first = await reading(1);
  const names = Array.from({ length: 22 }, (_, index) => `p${index}`);
  for (const name of names) void first.print(`line of ${name}`, name);
  await has(...names.map((name) => `line of ${name}`));
  first.cut();
  const { position } = await reading(2);
  expect(Object.keys(position?.origins ?? {})).toHaveLength(20);
  expect(position?.at).toBe(timeOf(3));
});

test('one that gives way is followed by the next one at once', async () => {
  const first = await reading(1);
  void first.print('start A', 'a');
  follow({ ...instance, startedAt: '2026-01-01T01:00:00Z' });
  await vi.waitFor(() => expect(readings).toHaveLength(2));
  expect(first.signal.aborted).toBe(true);
  expect(readings[1]?.position).toEqual({ at: null, origins: { a: timeOf(1) } });
});

test('what a program without origins has stored last counts for all, until there is a line with one after it', async () => {
  const { service, id } = instance;
  await db.database.run(insertOldLine, [service, id, 'old', timeOf((minute += 1))]);
  const first = await reading(1);
  expect(first.position).toEqual({ at: timeOf(1), origins: {} });
  void first.print('on A', 'a');
  await has('old', 'on A');
  first.cut();
  const second = await reading(2);
  expect(second.position).toEqual({ at: null, origins: { a: timeOf(2) } });
  await db.database.run(insertOldLine, [service, id, 'older again', timeOf((minute += 1))]);
  second.cut();
  expect((await reading(3)).position).toEqual({ at: timeOf(3), origins: { a: timeOf(2) } });
});

test('what is known of origins outlives the lines, and is forgotten when nobody has followed for long; of runs sooner', async () => {
  const run = randomUUID();
  const job = { events: {}, schedule: null, maximumRestarts: 0, maximumSeconds: null };
  await db.database.run(insertRelease, [run, instance.service, JSON.stringify(config({ job }))]);
  const lineOf = (id: string, release: string): Promise<number> => {
    const rows = [{ stream: 'stdout', message: 'one', source_at: timeOf(1), origin: 'x' }];
    return db.database.run(insertServiceLog, [instance.service, release, id, id, JSON.stringify(rows)]);
  };
  await lineOf('gone', instance.release);
  await lineOf('run', run);
  await lineOf(instance.id, instance.release);
  await trim();
  const first = await reading(1);
  expect(first.position).toEqual({ at: null, origins: { x: timeOf(1) } });
  const left = async () => {
    await db.database.run(forgetLogOrigins, [30, 2]);
    return (await db.database.many(origins)).map(({ instance_id }) => instance_id);
  };
  const all = [instance.id, 'gone', 'run'].toSorted();
  for (const id of all) await db.database.run(ageOrigins, [3, id]);
  expect(await left()).toEqual([instance.id, 'gone'].toSorted());
  for (const id of all) await db.database.run(ageOrigins, [28, id]);
  // The instance is being followed.
  await vi.waitFor(
    async () =>
      expect(await db.database.many(origins)).toContainEqual({ instance_id: instance.id, origin: 'x', is_recent: true }),
    10_000,
  );
  expect(await left()).toEqual([instance.id]);
});

const trim = (): Promise<number> => db.database.run(trimServiceLogs, [14]);
const move = (): Promise<void> => new LogArchive({ database: db.database, log: silent }).moveAll();
const known = async (): Promise<string[]> => (await db.database.many(positions)).map(({ instance_id }) => instance_id);

/** Stores this many lines of another instance of the service. */
async function chat(
  count: number,
  { id, release, at } = { id: 'chatty', release: instance.release, at: new Date() },
): Promise<void> {
  const rows = Array.from({ length: count }, () => ({ stream: 'stdout', message: 'chat', source_at: at.toISOString() }));
  await db.database.run(insertServiceLog, [instance.service, release, id, id, JSON.stringify(rows)]);
}

test.each([
  ['were compressed with those of another one', () => chat(26_000).then(move), Array.from({ length: 10_002 }, () => 'chat')],
  ['went for their age', trim, []],
])('a quiet instance is read on after its last line, also when its lines %s', async (_how, removeLines, left) => {
  const first = await reading(1);
  void first.print('one');
  void first.print('two');
  await has('one', 'two');
  await removeLines();
  await has(...left);
  first.cut();
  const second = await reading(2);
  expect(second.since).toBe(timeOf(2));
  void second.print('three');
  await has(...left, 'three');
  second.cut();
  expect((await reading(3)).since).toBe(timeOf(3));
});

test('where an instance was is known as long as it is followed, and forgotten weeks after that', async () => {
  const first = await reading(1);
  void first.print('one');
  await has('one');
  await trim();
  await db.database.run(age);
  await vi.waitFor(async () => expect(await db.database.many(positions)).toMatchObject([{ is_recent: true }]), 10_000);
  await collector.stop();
  await db.database.run(forgetLogPositions, [30]);
  expect(await known()).toEqual([instance.id]);
  await db.database.run(age);
  await db.database.run(forgetLogPositions, [30]);
  expect(await known()).toEqual([]);
});

test('of what still has lines, of runs of jobs and of what Davit told nothing is kept beside the lines', async () => {
  const release = randomUUID();
  const job = { events: {}, schedule: null, maximumRestarts: 0, maximumSeconds: null };
  await db.database.run(insertRelease, [release, instance.service, JSON.stringify(config({ job }))]);
  const at = new Date(0);
  await chat(2, { id: 'run', release, at });
  await chat(2, { id: 'davit', release: instance.release, at });
  await chat(2, { id: 'quiet', release: instance.release, at });
  await chat(2, { id: 'chatty', release: instance.release, at });
  await chat(3);
  await trim();
  expect(await known()).toEqual(['quiet']);
});

test('lines that could not be stored, as the database was away, are read again', async () => {
  const first = await reading(1);
  void first.print('one');
  await has('one');
  onWrite = () => {
    throw new DatabaseUnavailable(new Error('away'));
  };
  void first.print('two');
  await vi.waitFor(() => expect(first.signal.aborted).toBe(true), 10_000);
  onWrite = () => undefined;
  void first.print('lost with its reading');
  minute = 1;
  const second = await reading(2);
  expect(second.since).toBe(timeOf(1));
  void second.print('two');
  void second.print('three');
  await has('one', 'two', 'three');
});

test('lines that the database does not take are left out, and following goes on', async () => {
  const first = await reading(1);
  let refusals = 0;
  onWrite = () => {
    refusals += 1;
    if (refusals === 1) throw Object.assign(new Error('invalid byte sequence'), { code: '22021' });
  };
  void first.print('bad');
  await vi.waitFor(() => expect(refusals).toBe(1), 10_000);
  void first.print('good');
  await has('good');
  expect(readings).toHaveLength(1);
});

test('who may no longer follow stores nothing more; who is stopped stores what it has read', async () => {
  const term = new AbortController();
  follow(instance, term.signal);
  const [first] = await vi.waitFor(() => {
    expect(readings).toHaveLength(1);
    return readings;
  });
  void first?.print('for somebody else');
  term.abort();
  const second = await reading(2);
  void second.print('mine');
  await collector.stop();
  expect(await lines()).toEqual(['mine']);
});

test('a service that prints too fast loses lines, which are counted, and others lose none', async () => {
  const other = someInstance({ id: 'other', environment: randomUUID(), service: randomUUID(), release: randomUUID() });
  follow();
  await vi.waitFor(() => expect(readings).toHaveLength(1));
  follow(other);
  await vi.waitFor(() => expect(readings).toHaveLength(2));
  const [flood, calm] = readings;
  // Ten seconds' worth of lines are kept at any speed.
  for (let number = 0; number < 5000; number += 1) void flood?.print(`line ${number}`);
  void calm?.print('calm');
  await vi.waitFor(async () => expect(await linesOf(other.service)).toEqual(['calm']), 10_000);
  const found = await vi.waitFor(async () => {
    const all = await lines();
    expect(all.at(-1)).toMatch(/^Davit left out/);
    return all;
  }, 10_000);
  expect(found.slice(0, 1000)).toEqual(Array.from({ length: 1000 }, (_, number) => `line ${number}`));
  expect(found.length).toBeLessThan(1200);
  const [, leftOut] = /^Davit left out (\d+) lines \(\d+ KiB\).*DAVIT_LOG_LINES_PER_SECOND/.exec(found.at(-1) ?? '') ?? [];
  expect(Number(leftOut) + found.length - 1).toBe(5000);
  // The next reading does not count these lines again.
  flood?.cut();
  await vi.waitFor(() => expect(collector.isReading(instance.id)).toBe(false));
  follow();
  await vi.waitFor(() => expect(readings).toHaveLength(3));
  expect(readings[2]?.since).toBe(timeOf(5000));
});

test('a long line counts as many', async () => {
  follow();
  await vi.waitFor(() => expect(readings).toHaveLength(1));
  for (let number = 0; number < 200; number += 1) void readings[0]?.print('x'.repeat(10 * 1024));
  await vi.waitFor(async () => expect((await lines()).at(-1)).toMatch(/^Davit left out/), 10_000);
  expect((await lines()).length).toBeLessThan(130);
});

test('no more is read while the database is slow, or what is left out is more than it is worth to read', async () => {
  follow();
  await vi.waitFor(() => expect(readings).toHaveLength(1));
  const waits: Promise<void>[] = [];
  const print = (text: string): void => {
    const wait = readings[0]?.print(text);
    if (wait) waits.push(wait);
  };
  for (let number = 0; number < 20_000; number += 1) print('x'.repeat(100));
  // Each turn reads half a megabyte of the two megabytes.
  expect(waits.length).toBeGreaterThanOrEqual(3);
  await Promise.all(waits);
});
