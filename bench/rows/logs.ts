import { randomUUID } from 'node:crypto';
import { openDatabase, statement, type Database } from '@davit/db';
import { LogArchive } from '../../packages/engine/src/log-archive/archive.ts';
import { insertServiceLog } from '../../packages/engine/src/store/logs.ts';
import { startDavit, type Davit } from '../davit.ts';
import type { Place } from '../place.ts';
import type { Measurement, Row } from '../row.ts';
import { ratioOf, toSeries } from '../statistics.ts';
import { applicationBody } from './records.ts';

const million = 1_000_000;
const linesOfBatch = 500;
/** Instances that print at the same time. The collector stores the lines of each in turn. */
const instances = 4;

/** Stores lines as the version before segments did. */
const insertPlain = statement(
  'bench_insert_plain_lines',
  `insert into service_log (service_id, release_id, instance_id, instance_name, stream, message, source_at, at)
   select $1::uuid, $2::uuid, $3, $4, stream, message, source_at, source_at::timestamptz
     from jsonb_to_recordset($5::jsonb) as l(stream text, message text, source_at text)`,
);
const sizeOfSegments = statement<{ bytes: number; lines: number }>(
  'bench_segments',
  `select pg_total_relation_size('log_segment')::float8 as bytes, coalesce(sum(lines), 0)::integer as lines from log_segment`,
);
const clear = statement('bench_clear_logs', 'truncate service_log, log_segment');

export const logsRow: Row = {
  name: 'logs',
  about: 'a million lines of a service: bytes, lines stored a second while older ones are compressed, and searches',
  run: async (location) => {
    const address = await location.database('logs');
    const davit = await startDavit(location, { name: 'logs', databaseUrl: address });
    location.onEnd(() => davit.stop());
    const database = openDatabase({ connectionString: address, applicationName: 'bench logs', maximumConnections: 8 });
    location.onEnd(() => database.close());
    const serviceId = await makeService(davit);
    const storing = await storeLines(location, database, serviceId);
    const { bytes, lines } = await fill(database, serviceId);
    const megabytes = toSeries([(bytes / lines) * (million / 1_000_000)]);
    const size = { what: 'a million compressed lines', unit: 'MB' as const, davit: megabytes, floor: null, ratio: null };
    return [storing, { ...size, target: '≤ 40', isMet: megabytes.median <= 40 }, ...(await searches(location, davit, serviceId))];
  },
};

async function makeService({ client }: Davit): Promise<string> {
  const { id: organizationId } = await client.call('createOrganization', { body: { name: 'Shipyard' } });
  const { id: projectId } = await client.call('createProject', { params: { organizationId }, body: { name: 'logs' } });
  const { id: environmentId } = await client.call('createEnvironment', { params: { projectId }, body: { name: 'production' } });
  return (await client.call('createApplication', { params: { environmentId }, body: { ...applicationBody, name: 'logs' } })).id;
}

/** Measures the lines stored a second: with the moving of older lines, and, as the floor, only inserted. */
async function storeLines(location: Place, database: Database, serviceId: string): Promise<Measurement> {
  const sides = { davit: [] as number[], floor: [] as number[] };
  const batches = location.isQuick ? 160 : 400;
  for (let round = 0; round < location.rounds(4, 1); round += 1) {
    for (const side of round % 2 === 0 ? (['davit', 'floor'] as const) : (['floor', 'davit'] as const)) {
      await database.run(clear);
      const archive = new LogArchive({ database, log: console });
      const source = ordinaryLines();
      const prepared = Array.from({ length: batches }, () => batchOf(source));
      const began = performance.now();
      await inTurns(prepared, async (rows, instance) => {
        const values = [serviceId, null, instance, instance, rows];
        await database.run(side === 'davit' ? insertServiceLog : insertPlain, values);
        if (side === 'davit') archive.stored(serviceId, linesOfBatch);
      });
      sides[side].push((batches * linesOfBatch) / ((performance.now() - began) / 1000));
      await archive.stop();
    }
  }
  const davit = toSeries(sides.davit);
  const floor = toSeries(sides.floor);
  const result = { what: 'lines stored while older ones are compressed', unit: 'lines/s' as const, davit, floor };
  return { ...result, ratio: ratioOf(davit, floor), target: '≥ 20000', isMet: davit.median >= 20_000 };
}

async function inTurns(batches: readonly string[], store: (rows: string, instance: string) => Promise<void>): Promise<void> {
  const waiting = [...batches];
  const work = async (instance: string): Promise<void> => {
    for (let rows = waiting.pop(); rows !== undefined; rows = waiting.pop()) await store(rows, instance);
  };
  await Promise.all(Array.from({ length: instances }, (_, index) => work(`web-${index}`)));
}

/** Stores a million lines, of which the 3,000th has the text that is searched. */
async function fill(database: Database, serviceId: string): Promise<{ bytes: number; lines: number }> {
  await database.run(clear);
  const archive = new LogArchive({ database, log: console });
  const source = ordinaryLines();
  for (let batch = 0; batch < million / linesOfBatch; batch += 1) {
    const rows = batchOf(source, batch === 6 ? `payment of order ${rareId} was refunded twice` : undefined);
    await database.run(insertServiceLog, [serviceId, null, 'web', 'web', rows]);
  }
  await archive.moveAll();
  return database.one(sizeOfSegments);
}

const rareId = '5b0c7f1e-8a2d-4c3b-9e6f-d41a7b2c9058';

async function searches(location: Place, { client }: Davit, serviceId: string): Promise<Measurement[]> {
  const kinds = {
    'a text that occurs once, in the oldest lines': { text: 'refunded twice', limit: 1 },
    'an id that occurs once': { text: rareId, limit: 1 },
    'an expression': { expression: String.raw`order [0-9a-f-]{36} was refunded \w+`, limit: 1 },
    'a text that does not occur': { text: 'segmentation fault', limit: 1 },
    'an expression without four plain characters': { expression: String.raw`\bO{3}M+\b`, match_case: true, limit: 1 },
    'the newest 100 errors': { level: 'ERROR' as const, limit: 100 },
  };
  const params = { serviceId };
  const found: Measurement[] = [];
  for (const [what, query] of Object.entries(kinds)) {
    const times: number[] = [];
    for (let round = 0; round < location.rounds(7, 3); round += 1) {
      const began = performance.now();
      await client.call('searchServiceLog', { params, query });
      times.push(performance.now() - began);
    }
    const davit = toSeries(times);
    // Such an expression has to be tried on each line.
    const isJudged = !what.includes('without');
    const verdict = isJudged ? { target: '≤ 300', isMet: davit.median <= 300 } : { target: '–', isMet: null };
    found.push({ what: `first hit in a million lines: ${what}`, unit: 'ms', davit, floor: null, ratio: null, ...verdict });
  }
  return found;
}

function batchOf(source: Iterator<string>, first?: string): string {
  const at = new Date().toISOString();
  const rows = Array.from({ length: linesOfBatch }, (_, index) => {
    const next: unknown = source.next().value;
    return { stream: 'stdout', message: index === 0 && first !== undefined ? first : next, source_at: at };
  });
  return JSON.stringify(rows);
}

const agents = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/604.1',
  'kube-probe/1.30',
  'curl/8.5.0',
];
const trace = [
  'java.lang.IllegalStateException: connection closed',
  '\tat com.example.shop.Payment.charge(Payment.java:118)',
  '\tat com.example.shop.OrderService.pay(OrderService.java:64)',
  '\tat java.base/java.lang.Thread.run(Thread.java:1583)',
];

/** Yields access logs, JSON with random ids, plain lines and stack traces, some 160 bytes on average. */
function* ordinaryLines(): Generator<string, never> {
  let time = Date.UTC(2026, 0, 1);
  for (;;) {
    time += Math.random() * 20;
    const at = new Date(time).toISOString();
    const kind = Math.random();
    if (kind < 0.45) yield accessLine(at);
    else if (kind < 0.85) {
      const request = { request_id: randomUUID(), method: 'POST', path: `/orders/${below(1_000_000)}` };
      yield JSON.stringify({ level: 'info', time: Math.floor(time), ...request, msg: 'request received' });
      const level = oneOf(['info', 'info', 'info', 'warn', 'error']);
      const took = { user: below(100_000), status: 201, duration_ms: below(90_000) / 1000 };
      yield JSON.stringify({ level, time: Math.floor(time), ...request, ...took, msg: 'request completed' });
    } else if (kind < 0.98)
      yield `${at} INFO  [worker-${below(8)}] c.e.shop.OrderService - order ${below(1_000_000)} is paid in ${below(300)} ms`;
    else {
      yield `${at} ERROR [worker-${below(8)}] c.e.shop.Payment - payment of order ${below(1_000_000)} failed`;
      yield* trace;
    }
  }
}

function accessLine(at: string): string {
  const address = `10.${below(4)}.${below(256)}.${below(256)}`;
  const path = `/api/orders/${below(1_000_000)}/items?page=${below(20)}`;
  const answer = `${oneOf([200, 200, 200, 304, 404, 500])} ${below(50_000)}`;
  return `${address} - - [${at}] "GET ${path} HTTP/1.1" ${answer} "https://shop.example.org/cart" "${oneOf(agents)}"`;
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

function oneOf<T>(values: readonly T[]): T | undefined {
  return values[below(values.length)];
}
