import { parentPort, workerData } from 'node:worker_threads';
import { FAILSAFE_SCHEMA, load } from 'js-yaml';
import type { Chart, ChartUrls, ChartVersion, IndexQuestion } from './chart-index.ts';

/**
 * Runs in the thread of `chart-index.ts`. Reads the bytes of an index.yaml; the thread returns charts, or the place of
 * one chart.
 */
function readEntries(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  // Every scalar stays text, because a version may look like a number.
  const index: unknown = load(Buffer.from(bytes).toString('utf8'), { schema: FAILSAFE_SCHEMA, json: true });
  const entries = isRecord(index) ? index['entries'] : undefined;
  if (!isRecord(entries)) throw new Error('there is no map of entries');
  return entries;
}

function toCharts(entries: Readonly<Record<string, unknown>>): readonly Chart[] {
  return Object.entries(entries).map(([name, versions]) => ({ name, versions: versionsOf(versions) }));
}

function toUrls(entries: Readonly<Record<string, unknown>>, { name, version }: ChartVersion): ChartUrls {
  const versions: unknown = Object.hasOwn(entries, name) ? entries[name] : [];
  if (!Array.isArray(versions)) return null;
  const entry: unknown = versions.find((one: unknown) => isRecord(one) && one['version'] === version);
  if (!isRecord(entry)) return null;
  const urls: unknown = entry['urls'];
  return { urls: Array.isArray(urls) ? urls.filter((url: unknown) => typeof url === 'string') : [] };
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

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what chart-index.ts gives, and nobody else starts this thread
const { bytes, wanted } = workerData as IndexQuestion;
const entries = readEntries(bytes);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port between threads has no origin
parentPort?.postMessage(wanted === null ? toCharts(entries) : toUrls(entries, wanted));
