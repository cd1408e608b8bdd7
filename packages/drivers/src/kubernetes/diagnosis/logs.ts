import { abortablePause, pause } from '@davit/base';
import { chunksOf } from '@davit/base-node';
import type { ContainerStatus, Pod } from 'kubernetes-types/core/v1.js';
import type { OnLine } from '../../driver.ts';
import { LogReader } from '../../shared/log-lines.ts';
import type { LogLine, LogPosition } from '../../workload.ts';
import { ApiRefusal, find, stream, unreachable, type Api } from '../client/api.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { podsOf } from '../client/pods.ts';
import { translated } from '../client/refusals.ts';
import { lastEnd, mainStatus, parseId } from '../instances/instances.ts';
import { mainContainer } from '../manifests/pod.ts';
import { parseChartInstanceId } from '../names/chart-instance-id.ts';
import { label } from '../names/labels.ts';

/** Pause between two attempts to read a pod that is being deleted and whose node does not respond. */
const againMilliseconds = 1_000;
/**
 * How long pods that end beside a run are read after its last attempt has ended. The output of a run is that of its
 * last attempt. Other pods must not block the readers of what that attempt left.
 */
const besideRunMilliseconds = 3_000;
/** How long a pod is still read after its grace period. By then its node has ended the pod, or does not respond. */
const lateMilliseconds = 30_000;

interface Sink {
  readonly onLine: OnLine;
  readonly signal: AbortSignal;
}

/**
 * Follows the newest container of an instance until it exits. See `ClusterDriver.followLogs`.
 * - The remaining lines of the previous container, which has exited, come first.
 * - Pods that are being deleted are followed at the same time: the cluster creates a new pod before the old one has
 *   ended.
 * - Nodes merge both streams into one, so all lines count as stdout.
 * - The origin of a line is the uid of its pod.
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
    // Earlier attempts of a run, which the cluster repeats by itself.
    const isRun = newest.metadata?.labels?.[label.schedule] !== undefined;
    const attempts = isRun ? older.filter((pod) => !isLeaving(pod)).toReversed() : [];
    for (const attempt of attempts) await outputOf(attempt).read();
    const output = outputOf(newest);
    if ((statusOf(newest, ofChart?.container)?.restartCount ?? 0) > 0) await output.read({ previous: true });
    await output.read({ follow: true });
    const left = Promise.all(leaving);
    await (isRun ? Promise.race([left, abortablePause(besideRunMilliseconds, within.signal)]) : left);
  } catch (error) {
    if (signal.aborted) return;
    throw translated(error, 'The output of an instance could not be read');
  } finally {
    // A caller that resumes does so after the last reported line.
    end.abort();
    await Promise.all(leaving);
  }
}

function isLeaving({ metadata }: Pod): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

/** Returns the time of the last line that was read of a pod, or null if none was. */
function lastOf({ metadata }: Pod, position: LogPosition | null): string | null {
  const own = position?.origins?.[metadata?.uid ?? ''] ?? null;
  const any = position?.at ?? null;
  return own === null || (any !== null && any > own) ? any : own;
}

/**
 * Reads the output of a pod that is being deleted to its end, for as long as the deletion may take. Never rejects: a
 * node that does not respond is asked again and blocks nothing else.
 */
async function readLeaving(output: PodOutput, { metadata }: Pod, signal: AbortSignal): Promise<void> {
  const left = Math.max(Date.parse(metadata?.deletionTimestamp ?? '') - Date.now(), 0) + lateMilliseconds;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(left)]);
  while (!limited.aborted) {
    try {
      return await output.read({ follow: true }, limited);
    } catch {
      await pause(againMilliseconds, limited);
    }
  }
}

/** The output of a pod after a given time. Each line is reported once, however many reads it takes. */
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
   * Resumes after the latest line of the earlier reads. For a container that has crashed and waits, nodes return the
   * same lines with and without `previous`.
   */
  async read(
    { follow = false, previous = false }: Pick<LogQuery, 'follow' | 'previous'> = {},
    signal: AbortSignal = this.#sink.signal,
  ): Promise<void> {
    const since = this.#last;
    const origin = this.#pod.metadata?.uid;
    const onLine = (line: LogLine): ReturnType<OnLine> => {
      // Compares with the start of this read, not with the line before: lines of two streams at once are not always
      // ordered by time.
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
  /** Reads the container before the newest one. */
  readonly previous?: boolean;
  /** If absent, the `mainContainer` of Davit's own pods is read. */
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
    // Whole seconds are enough: the caller drops the lines that it already has.
    ...(since !== null && { sinceTime: `${since.slice(0, 19)}Z` }),
  };
  const lines = new LogReader('stdout');
  try {
    const response = await stream(api, { method: 'GET', path, query, signal });
    // A partial line is not delivered, because `chunksOf` fails first. It would carry the time of the whole line, and a
    // reader that resumes after that time would never get the rest.
    for await (const chunk of chunksOf(response)) {
      for (const line of lines.push(chunk)) {
        const taken = onLine(line);
        if (taken) await taken;
      }
    }
    for (const line of lines.end()) await onLine(line);
  } catch (error) {
    signal.throwIfAborted();
    // 400: the container has not started, or there is no previous one. 404: the pod is gone.
    if (error instanceof ApiRefusal && (error.status === 404 || error.status === 400)) return;
    if (error instanceof ApiRefusal || (error instanceof Error && error.name === 'DriverError')) throw error;
    throw unreachable('ended a log', error);
  }
}

/**
 * How long the collection of evidence from a node may take. The caller already knows a cause and has little time left
 * to report it, while an API server dials an unreachable node for half a minute.
 */
export const evidenceMilliseconds = 8_000;

/**
 * Returns the last lines of a pod's process. Returns none if they cannot be read, because they are only evidence for a
 * worse failure.
 */
export async function lastLines(
  { api }: Scope,
  pod: Pod,
  { count, container }: { readonly count: number; readonly container?: string | undefined },
  signal: AbortSignal,
): Promise<string[]> {
  const lines: string[] = [];
  const status = mainStatus(pod);
  // A container that is being restarted has printed nothing yet.
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
