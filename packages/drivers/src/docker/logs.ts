import { chunksOf } from '@davit/base-node';
import type { EngineConnection } from './connection.ts';
import type { OnLine } from '../driver.ts';
import type { LogLine } from '../workload.ts';
import { EngineRefusal, stream, unreachable } from './engine-api.ts';
import { FrameReader } from './frames.ts';
import { LineAssembler, toSince } from '../shared/log-lines.ts';

interface LogQuery {
  readonly since: string | null;
  /** Number of last lines, or `all`. */
  readonly tail: string;
  readonly follow: boolean;
}

/**
 * Reads the lines of a container that the engine stored. If `follow` is set, continues until the container exits or the
 * signal aborts. See `ClusterDriver.followLogs`.
 */
async function followLines(
  docker: EngineConnection,
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
  // `since` has a resolution of one second, so lines that were delivered before are skipped here.
  const deliver = (line: LogLine): ReturnType<OnLine> =>
    query.since === null || line.timestamp > query.since ? onLine(line) : undefined;
  for await (const chunk of chunksOf(response)) {
    for (const frame of frames.push(chunk)) {
      for (const line of lines.push(frame)) {
        const taken = deliver(line);
        // Awaits only if there is a promise: an unneeded await for each line would cost more than everything else.
        if (taken) await taken;
      }
    }
  }
  for (const line of lines.end()) await deliver(line);
}

/** Like `followLines`, for callers that follow. Returns normally if the signal aborts or the container is gone. */
export async function followLogs(
  docker: EngineConnection,
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

/**
 * Returns the last lines of a container. Returns no lines if they cannot be read, because they only serve as evidence
 * for another failure.
 */
export async function lastLines(
  docker: EngineConnection,
  container: string,
  count: number,
  signal: AbortSignal,
): Promise<string[]> {
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

/** Returns whether a stream failed because its connection ended, and not because of a bug in Davit. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? error.code : undefined;
  return (typeof code === 'string' && code.startsWith('E')) || /connection ended|aborted/.test(error.message);
}
