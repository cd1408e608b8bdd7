import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { DriverError } from '../../errors.ts';
import { pause } from '../../shared/pause.ts';
import { ApiRefusal, call, refused, stream, unreachable, type Api, type KubernetesObject, type ListOf } from './api.ts';

/** A list of the API, and which of its objects are meant. */
export interface Listed {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

export type Change<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T };

/** The API server ends a watch by itself after this time. */
const watchSeconds = 240;
/**
 * So much later it has not: a proxy between may keep up a connection whose server is gone. One that is gone itself is noticed by TCP, as
 * the agents have connections kept alive.
 */
const silentMilliseconds = (watchSeconds + 30) * 1_000;
/** Within this time a watch is answered, before anything is told by it: as long as requests have. */
const answerMilliseconds = 60_000;
/** Between the end of a watch and the next one. */
const againMilliseconds = 500;
/** A watch that ended sooner, and had told nothing, was none; after so many of them in a row the server is taken to be away. */
const futileMilliseconds = 5_000;
const mostFutile = 5;
/** Kubernetes stores no object of more than a few megabytes. */
const longestLine = 16 * 1024 * 1024;

export async function list<T>(api: Api, { path, query }: Listed, signal: AbortSignal): Promise<ListOf<T>> {
  return (await call<ListOf<T>>(api, { method: 'GET', path, query, signal })).body;
}

/**
 * Keeps up with a list: calls back with all that it has at first and after each change, until the signal aborts; then resolves.
 * Rejects when the list can neither be read nor watched any more; a connection that breaks is no such thing, as what stands between closes
 * those on which nothing was said for a while. `onEvent` gets the changes, without what was there at first.
 */
export async function follow<T extends KubernetesObject>(
  api: Api,
  listed: Listed,
  { onChange, onEvent }: { onChange?: (items: ReadonlyMap<string, T>) => void; onEvent?: (change: Change<T>) => void },
  signal: AbortSignal,
): Promise<void> {
  const items = new Map<string, T>();
  const take = (change: Change<T>): void => {
    const uid = change.object.metadata?.uid ?? '';
    if (change.type === 'DELETED') items.delete(uid);
    else items.set(uid, change.object);
    onEvent?.(change);
    onChange?.(items);
  };
  try {
    while (!signal.aborted) {
      const all = await list<T>(api, listed, signal);
      items.clear();
      for (const object of all.items) items.set(object.metadata?.uid ?? '', object);
      onChange?.(items);
      await watch(api, listed, { from: all.metadata.resourceVersion ?? '', take }, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

interface Line<T> {
  readonly type?: string;
  readonly object?: T & { readonly code?: number; readonly message?: string };
}

/** Watches until the list is to be read anew. */
async function watch<T extends KubernetesObject>(
  api: Api,
  listed: Listed,
  { from, take }: { readonly from: string; readonly take: (change: Change<T>) => void },
  signal: AbortSignal,
): Promise<void> {
  let version = from;
  let futile = 0;
  const onLine = ({ type, object }: Line<T>): void => {
    version = object?.metadata?.resourceVersion ?? version;
    if (object && (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')) take({ type, object });
  };
  while (!signal.aborted) {
    const [before, began] = [version, Date.now()];
    const end = await watchOnce(api, listed, { from: version, onLine }, signal);
    if (end === 'FORGOTTEN') return;
    futile = version === before && Date.now() - began < futileMilliseconds ? futile + 1 : 0;
    if (futile >= mostFutile) throw unreachable('ends each watch at once', end);
    await pause(againMilliseconds, signal);
  }
}

/** One watch, and why it ended; FORGOTTEN: the next one cannot go on from the last version. Rejects where it was not begun, or is refused. */
async function watchOnce<T extends KubernetesObject>(
  api: Api,
  { path, query }: Listed,
  { from, onLine }: { readonly from: string; readonly onLine: (line: Line<T>) => void },
  signal: AbortSignal,
): Promise<'FORGOTTEN' | Error> {
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(), silentMilliseconds);
  const either = AbortSignal.any([signal, silent.signal]);
  const watched = {
    ...query,
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(watchSeconds),
  };
  try {
    const response = await answerOf(api, { path, query: watched }, silent, either);
    for await (const line of linesOf<T>(response, either)) {
      if (line.type === 'ERROR') {
        const { code = 500, message = 'the watch failed' } = line.object ?? {};
        throw refused({ method: 'GET', path }, code, message);
      }
      onLine(line);
    }
    return new Error('nothing was told');
  } catch (error) {
    if (error instanceof CutWatch) return error;
    if (error instanceof ApiRefusal && error.status === 410) return 'FORGOTTEN';
    // What was silent may have lost something; what did not even answer is away.
    if (error === silent.signal.reason && !(error instanceof DriverError)) return 'FORGOTTEN';
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function answerOf(api: Api, listed: Listed, silent: AbortController, signal: AbortSignal): Promise<IncomingMessage> {
  const late = (): DriverError => unreachable('does not answer', new Error(`no watch within ${answerMilliseconds / 1_000} s`));
  const timer = setTimeout(() => silent.abort(late()), answerMilliseconds);
  try {
    return await stream(api, { method: 'GET', ...listed, signal });
  } finally {
    clearTimeout(timer);
  }
}

/** The connection of a watch broke that had been answered: by that alone nobody is away. */
class CutWatch extends Error {}

async function* linesOf<T>(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Line<T>> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > longestLine) throw new Error('an event is too large');
      for (const line of lines) if (line !== '') yield JSON.parse(line) as Line<T>; // oxlint-disable-line typescript/no-unsafe-type-assertion -- the API is trusted
    }
    if (!response.complete) throw new Error('the connection ended');
  } catch (error) {
    signal.throwIfAborted();
    throw new CutWatch(error instanceof Error ? error.message : String(error), { cause: error });
  } finally {
    response.destroy();
  }
}
