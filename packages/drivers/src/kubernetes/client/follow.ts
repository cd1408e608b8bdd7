import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { abortablePause, messageOf } from '@davit/base';
import { chunksOf } from '@davit/base-node';
import { DriverError } from '../../errors.ts';
import { ApiRefusal, call, refused, stream, unreachable, type Api, type KubernetesObject, type ListOf } from './api.ts';

/** A list of the API, and the query that selects its objects. */
export interface Listed {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

export type Change<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T };

/** Seconds after which the API server ends a watch by itself. */
const watchSeconds = 240;
/**
 * Time after which a watch counts as dead: 30 s more than the server's own limit. A proxy in between may keep a
 * connection open although its server is gone. TCP detects a peer that is gone itself, because the agents use
 * keep-alive.
 */
const silentMilliseconds = (watchSeconds + 30) * 1_000;
/** Time within which a watch must get its response, before any event. It equals the timeout of requests. */
const answerMilliseconds = 60_000;
/** Pause between the end of a watch and the next watch. */
const againMilliseconds = 500;
/**
 * A watch that ended sooner than this, without an event, is futile. After `maxFutile` such watches in a row the server
 * counts as unreachable.
 */
const futileMilliseconds = 5_000;
const maxFutile = 5;
/** Kubernetes stores no object of more than a few megabytes. */
const longestLine = 16 * 1024 * 1024;

export async function list<T>(api: Api, { path, query }: Listed, signal: AbortSignal): Promise<ListOf<T>> {
  return (await call<ListOf<T>>(api, { method: 'GET', path, query, signal })).body;
}

/**
 * Follows a list until the signal aborts, then resolves. Calls `onChange` with all objects at first and after each
 * change. Calls `onEvent` with each change, but not with the objects that existed at first. Rejects if the list can
 * neither be read nor watched any more. A broken connection does not reject, because proxies close connections that
 * were silent for a while.
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

/** Watches until the list must be read again. */
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
    if (futile >= maxFutile) throw unreachable('closes each watch immediately', end);
    await abortablePause(againMilliseconds, signal);
  }
}

/**
 * Runs one watch and returns why it ended. FORGOTTEN means that the next watch cannot resume at the last version.
 * Rejects if the watch could not be started or was refused.
 */
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
    return new Error('no event arrived');
  } catch (error) {
    if (error instanceof CutWatch) return error;
    if (error instanceof ApiRefusal && error.status === 410) return 'FORGOTTEN';
    // A watch that was silent may have lost events. A server that did not even respond is unreachable.
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

/** The connection of an established watch broke. That alone does not make the server unreachable. */
class CutWatch extends Error {}

async function* linesOf<T>(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Line<T>> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of chunksOf(response)) {
      const lines = (rest + decoder.write(chunk)).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > longestLine) throw new Error('an event is too large');
      for (const line of lines) if (line !== '') yield JSON.parse(line) as Line<T>; // oxlint-disable-line typescript/no-unsafe-type-assertion -- the API is trusted
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new CutWatch(messageOf(error), { cause: error });
  } finally {
    response.destroy();
  }
}
