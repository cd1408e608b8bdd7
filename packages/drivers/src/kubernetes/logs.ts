import type { ContainerStatus, Pod } from 'kubernetes-types/core/v1.js';
import { LogReader } from '../shared/log-lines.ts';
import type { LogLine } from '../workload.ts';
import { ApiRefusal, find, stream, unreachable, type Api } from './api.ts';
import { parseChartInstanceId } from './charts/state.ts';
import { lastEnd, mainStatus, parseId } from './instances.ts';
import { label } from './labels.ts';
import { mainContainer } from './manifests/pod.ts';
import { pathOf, type Scope } from './objects.ts';
import { podsOf } from './pods.ts';
import { translated } from './refusals.ts';

/**
 * Lines of the container of an instance that is its newest, until that ends; before them, what is left of those of the container
 * before it, which has ended. See `ClusterDriver.followLogs`. Nodes keep both streams in one: all lines are of stdout.
 */
export async function followLogs(
  scope: Scope,
  instanceId: string,
  since: string | null,
  { onLine, signal }: { readonly onLine: (line: LogLine) => void; readonly signal: AbortSignal },
): Promise<void> {
  if (signal.aborted) return;
  try {
    const ofChart = parseChartInstanceId(instanceId);
    const pods = ofChart === null ? await podsOf(scope, parseId(instanceId), signal) : await chartPods(scope, ofChart, signal);
    const [pod, ...older] = pods;
    if (pod === undefined) return;
    const container = ofChart?.container;
    // Not against the line before: what came from two streams at once is not always in the order of its times.
    const deliver = (line: LogLine): void => {
      if (since === null || line.timestamp > since) onLine(line);
    };
    // Earlier attempts of a run that the cluster tries again by itself.
    const attempts = pod.metadata?.labels?.[label.schedule] === undefined ? [] : older.toReversed();
    for (const attempt of attempts) await readLines(scope.api, attempt, { since }, { onLine: deliver, signal });
    const restarts = statusOf(pod, container)?.restartCount ?? 0;
    if (restarts > 0) await readLines(scope.api, pod, { since, previous: true, container }, { onLine: deliver, signal });
    await readLines(scope.api, pod, { since, follow: true, container }, { onLine: deliver, signal });
  } catch (error) {
    if (signal.aborted) return;
    throw translated(error, 'The output of an instance could not be read');
  }
}

async function chartPods(
  { api }: Scope,
  { namespace, pod }: { readonly namespace: string; readonly pod: string },
  signal: AbortSignal,
): Promise<Pod[]> {
  const found = await find<Pod>(api, pathOf('Pod', { namespace, name: pod }), signal);
  return found === null ? [] : [found];
}

function statusOf(pod: Pod, container: string | undefined): ContainerStatus | undefined {
  if (container === undefined) return mainStatus(pod);
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === container);
}

interface LogQuery {
  readonly since?: string | null;
  readonly tail?: number;
  readonly follow?: boolean;
  /** Of the container before the newest. */
  readonly previous?: boolean;
  /** Left out: the one that Davit's own pods have. */
  readonly container?: string | undefined;
}

async function readLines(
  api: Api,
  { metadata }: Pod,
  { since = null, tail, follow = false, previous = false, container = mainContainer }: LogQuery,
  { onLine, signal }: { readonly onLine: (line: LogLine) => void; readonly signal: AbortSignal },
): Promise<void> {
  const path = `/api/v1/namespaces/${metadata?.namespace}/pods/${metadata?.name}/log`;
  const query = {
    container,
    timestamps: 'true',
    ...(follow && { follow: 'true' }),
    ...(previous && { previous: 'true' }),
    ...(tail !== undefined && { tailLines: String(tail) }),
    // Whole seconds are all it takes: what was seen already is left out by the caller.
    ...(since !== null && { sinceTime: `${since.slice(0, 19)}Z` }),
  };
  const lines = new LogReader('stdout');
  try {
    const response = await stream(api, { method: 'GET', path, query, signal });
    for await (const chunk of response as AsyncIterable<Buffer>) {
      for (const line of lines.push(chunk)) onLine(line);
    }
    // Before the last line: half of one would have its time, and whoever goes on from that would never get the rest.
    if (!response.complete) throw new Error('the connection ended in the middle of a log');
    for (const line of lines.end()) onLine(line);
  } catch (error) {
    signal.throwIfAborted();
    // 400: the container has not begun, or there was none before it; 404: the pod is gone.
    if (error instanceof ApiRefusal && (error.status === 404 || error.status === 400)) return;
    if (error instanceof ApiRefusal || (error instanceof Error && error.name === 'DriverError')) throw error;
    throw unreachable('ended a log', error);
  }
}

/**
 * For how long what a node could still tell is waited for. Whoever asks knows a cause already and has little time left to say it, while an
 * API server dials a node that it does not reach for half a minute.
 */
export const evidenceMilliseconds = 8_000;

/** The last lines of a pod's process; none when they cannot be had, as they are only ever evidence for something worse. */
export async function lastLines(
  { api }: Scope,
  pod: Pod,
  { count, container }: { readonly count: number; readonly container?: string | undefined },
  signal: AbortSignal,
): Promise<string[]> {
  const lines: string[] = [];
  const status = mainStatus(pod);
  // A container that is being started again has said nothing yet.
  const previous =
    status?.state?.terminated === undefined && status?.state?.running === undefined && lastEnd(status) !== undefined;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(evidenceMilliseconds)]);
  const sink = { onLine: ({ text }: LogLine) => lines.push(text), signal: limited };
  try {
    await readLines(api, pod, { tail: count, previous, container }, sink);
    if (lines.length === 0) await readLines(api, pod, { tail: count, previous: !previous, container }, sink);
  } catch {
    signal.throwIfAborted();
  }
  return lines.slice(-count);
}
