import { parentPort, workerData } from 'node:worker_threads';
import { FAILSAFE_SCHEMA, load } from 'js-yaml';
import type { Chart } from './chart-index.ts';

/** The body of the thread in `chart-index.ts`: bytes of an index.yaml in, charts out. */
function readIndex(bytes: Uint8Array): readonly Chart[] {
  // Every scalar stays text: a version may look like a number.
  const index: unknown = load(Buffer.from(bytes).toString('utf8'), { schema: FAILSAFE_SCHEMA, json: true });
  const entries = isRecord(index) ? index['entries'] : undefined;
  if (!isRecord(entries)) throw new Error('there is no map of entries');
  return Object.entries(entries).map(([name, versions]) => ({ name, versions: versionsOf(versions) }));
}

function versionsOf(entries: unknown): string[] {
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: unknown) => {
    const version = isRecord(entry) ? entry['version'] : undefined;
    return typeof version === 'string' && version !== '' ? [version] : [];
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const bytes: unknown = workerData;
if (!(bytes instanceof Uint8Array)) throw new Error('the thread of chart-index.ts is given bytes');
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port between threads has no origin
parentPort?.postMessage(readIndex(bytes));
