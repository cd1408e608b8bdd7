import type Dockerode from 'dockerode';
import type { OnLine } from '../driver.ts';
import type { LogLine } from '../workload.ts';
import { chunksOf, EngineRefusal, stream, unreachable } from './engine-api.ts';
import { FrameReader } from './frames.ts';
import { LineAssembler, toSince } from '../shared/log-lines.ts';

interface LogQuery {
  readonly since: string | null;
  /** Number of last lines, or all. */
  readonly tail: string;
  readonly follow: boolean;
}

/** Lines of a container, as the engine kept them. Follows until it ends, or the signal aborts. See `ClusterDriver.followLogs`. */
async function followLines(
  docker: Dockerode,
  container: string,
  query: LogQuery,
  { onLine, signal }: { readonly onLine: OnLine; readonly signal: AbortSignal },
): Promise<void> {
  const response = await stream(docker, {
    method: 'GET',
    path: `/containers/${container}/logs`,
    query: {
      stdout: 'true',
      stderr: 'true',
      timestamps: 'true',
      tail: query.tail,
      follow: String(query.follow),
      ...(query.since !== null && { since: toSince(query.since) }),
    },
    signal,
  });
  const frames = new FrameReader();
  const lines = new LineAssembler();
  // The engine is asked from the start of the second on: what was seen already is left out here.
  const deliver = (line: LogLine): ReturnType<OnLine> =>
    query.since === null || line.timestamp > query.since ? onLine(line) : undefined;
  for await (const chunk of chunksOf(response)) {
    for (const frame of frames.push(chunk)) {
      for (const line of lines.push(frame)) {
        const taken = deliver(line);
        // Only then: awaiting nothing for each line would cost more than all else.
        if (taken) await taken;
      }
    }
  }
  for (const line of lines.end()) await deliver(line);
  if (!response.complete) throw new Error('the connection ended in the middle of a log');
}

/** As `followLines`, for callers that follow: an abort and a container that is gone are its normal ends. */
export async function followLogs(
  docker: Dockerode,
  container: string,
  since: string | null,
  sink: { readonly onLine: OnLine; readonly signal: AbortSignal },
): Promise<void> {
  try {
    await followLines(docker, container, { since, tail: 'all', follow: true }, sink);
  } catch (error) {
    if (sink.signal.aborted) return;
    if (error instanceof EngineRefusal && error.status === 404) return;
    if (isConnectionError(error)) throw unreachable('ended the log', error);
    throw error;
  }
}

/** The last lines of a container; none when they cannot be had, as they are only ever evidence for something worse. */
export async function lastLines(docker: Dockerode, container: string, count: number, signal: AbortSignal): Promise<string[]> {
  const lines: LogLine[] = [];
  try {
    const sink = { onLine: (line: LogLine): void => void lines.push(line), signal };
    await followLines(docker, container, { since: null, tail: String(count), follow: false }, sink);
  } catch {
    signal.throwIfAborted();
  }
  return lines
    .toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0))
    .slice(-count)
    .map(({ text }) => text);
}

/** Whether a stream ended because its connection did, and not because of a fault of ours in between. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  return (typeof code === 'string' && code.startsWith('E')) || /connection ended|aborted/.test(error.message);
}
