import type { ContainerStatus, Pod } from 'kubernetes-types/core/v1.js';
import type { OnLine } from '../../driver.ts';
import { LogReader } from '../../shared/log-lines.ts';
import { pause } from '../../shared/pause.ts';
import type { LogLine, LogPosition } from '../../workload.ts';
import { ApiRefusal, find, stream, unreachable, type Api } from '../client/api.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { podsOf } from '../client/pods.ts';
import { translated } from '../client/refusals.ts';
import { lastEnd, mainStatus, parseId } from '../instances/instances.ts';
import { mainContainer } from '../manifests/pod.ts';
import { parseChartInstanceId } from '../names/chart-instance-id.ts';
import { label } from '../names/labels.ts';

/** Between two readings of a pod that is to go and whose node does not answer. */
const againMilliseconds = 1_000;
/** What a run printed is the run's last attempt: what ends beside it must not keep others from what that left. */
const besideRunMilliseconds = 3_000;
/** So much longer than it is given to end a pod that is to go is read: by then its node has ended it, or does not answer. */
const lateMilliseconds = 30_000;

interface Sink {
  readonly onLine: OnLine;
  readonly signal: AbortSignal;
}

/**
 * Lines of the container of an instance that is its newest, until that ends; before them, what is left of those of the container
 * before it, which has ended; beside them those of pods that are to go, as the cluster makes one in their place before they have ended.
 * See `ClusterDriver.followLogs`. Nodes keep both streams in one: all lines are of stdout. Their origin is the pod (its uid).
 */
export async function followLogs(scope: Scope, instanceId: string, position: LogPosition | null, sink: Sink): Promise<void> {
  const { signal } = sink;
  if (signal.aborted) return;
  const end = new AbortController();
  const within = { ...sink, signal: AbortSignal.any([signal, end.signal]) };
  let leaving: readonly Promise<void>[] = [];
  try {
    const ofChart = parseChartInstanceId(instanceId);
    const pods = ofChart === null ? await podsOf(scope, parseId(instanceId), signal) : await chartPods(scope, ofChart, signal);
    const [newest, ...older] = pods;
    if (newest === undefined) return;
    const outputOf = (pod: Pod): PodOutput =>
      new PodOutput(scope.api, { pod, container: ofChart?.container, after: lastOf(pod, position) }, within);
    leaving = older.filter(isLeaving).map((pod) => readLeaving(outputOf(pod), pod, within.signal));
    // Earlier attempts of a run that the cluster tries again by itself.
    const isRun = newest.metadata?.labels?.[label.schedule] !== undefined;
    const attempts = isRun ? older.filter((pod) => !isLeaving(pod)).toReversed() : [];
    for (const attempt of attempts) await outputOf(attempt).read();
    const output = outputOf(newest);
    if ((statusOf(newest, ofChart?.container)?.restartCount ?? 0) > 0) await output.read({ previous: true });
    await output.read({ follow: true });
    const left = Promise.all(leaving);
    await (isRun ? Promise.race([left, pause(besideRunMilliseconds, within.signal)]) : left);
  } catch (error) {
    if (signal.aborted) return;
    throw translated(error, 'The output of an instance could not be read');
  } finally {
    // Whoever begins again does so after the last line that was told.
    end.abort();
    await Promise.all(leaving);
  }
}

function isLeaving({ metadata }: Pod): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

/** The time of the last line of a pod that was read; null: none was. */
function lastOf({ metadata }: Pod, position: LogPosition | null): string | null {
  const own = position?.origins?.[metadata?.uid ?? ''] ?? null;
  const any = position?.at ?? null;
  return own === null || (any !== null && any > own) ? any : own;
}

/**
 * Reads to its end what a pod prints that is to go, for as long as it may take to go. Never rejects: a node that does not answer
 * is asked again, and holds up nothing else.
 */
async function readLeaving(output: PodOutput, { metadata }: Pod, signal: AbortSignal): Promise<void> {
  const left = Math.max(Date.parse(metadata?.deletionTimestamp ?? '') - Date.now(), 0) + lateMilliseconds;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(left)]);
  while (!limited.aborted) {
    try {
      return await output.read({ follow: true }, limited);
    } catch {
      await pause(againMilliseconds, limited).catch(() => undefined);
    }
  }
}

/** What a pod has printed after a time, each line once in as many readings as it takes. */
class PodOutput {
  readonly #api: Api;
  readonly #pod: Pod;
  readonly #container: string | undefined;
  readonly #sink: Sink;
  #last: string | null;

  constructor(
    api: Api,
    { pod, container, after }: { readonly pod: Pod; readonly container: string | undefined; readonly after: string | null },
    sink: Sink,
  ) {
    this.#api = api;
    this.#pod = pod;
    this.#container = container;
    this.#sink = sink;
    this.#last = after;
  }

  /**
   * Goes on after the latest line of the readings before: of a container that has crashed and waits nodes tell the same with `previous` and
   * without it.
   */
  async read(
    { follow = false, previous = false }: Pick<LogQuery, 'follow' | 'previous'> = {},
    signal: AbortSignal = this.#sink.signal,
  ): Promise<void> {
    const since = this.#last;
    const origin = this.#pod.metadata?.uid;
    const onLine = (line: LogLine): ReturnType<OnLine> => {
      // Not against the line before: what came from two streams at once is not always in the order of its times.
      if (since !== null && line.timestamp <= since) return undefined;
      if (this.#last === null || line.timestamp > this.#last) this.#last = line.timestamp;
      return this.#sink.onLine({ ...line, ...(origin !== undefined && { origin }) });
    };
    await readLines(this.#api, this.#pod, { since, follow, previous, container: this.#container }, { onLine, signal });
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
  { onLine, signal }: Sink,
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
      for (const line of lines.push(chunk)) {
        const taken = onLine(line);
        if (taken) await taken;
      }
    }
    // Before the last line: half of one would have its time, and whoever goes on from that would never get the rest.
    if (!response.complete) throw new Error('the connection ended in the middle of a log');
    for (const line of lines.end()) await onLine(line);
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
  const sink = { onLine: ({ text }: LogLine): void => void lines.push(text), signal: limited };
  try {
    await readLines(api, pod, { tail: count, previous, container }, sink);
    if (lines.length === 0) await readLines(api, pod, { tail: count, previous: !previous, container }, sink);
  } catch {
    signal.throwIfAborted();
  }
  return lines.slice(-count);
}
