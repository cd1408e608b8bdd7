import { StringDecoder } from 'node:string_decoder';
import { ApiRefusal, call, stream, unreachable, type Api, type KubernetesObject, type ListOf } from './api.ts';

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
/** Kubernetes stores no object of more than a few megabytes. */
const longestLine = 16 * 1024 * 1024;

export async function list<T>(api: Api, { path, query }: Listed, signal: AbortSignal): Promise<ListOf<T>> {
  return (await call<ListOf<T>>(api, { method: 'GET', path, query, signal })).body;
}

/**
 * Keeps up with a list: calls back with all that it has at first and after each change, until the signal aborts; then resolves.
 * Rejects when the list cannot be read any more. `onEvent` gets the changes, without what was there at first.
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

/** Watches until the server wants the list to be read anew, or does not end the watch. */
async function watch<T extends KubernetesObject>(
  api: Api,
  listed: Listed,
  { from, take }: { readonly from: string; readonly take: (change: Change<T>) => void },
  signal: AbortSignal,
): Promise<void> {
  let version = from;
  while (!signal.aborted) {
    const silent = new AbortController();
    const timer = setTimeout(() => silent.abort(), silentMilliseconds);
    const either = AbortSignal.any([signal, silent.signal]);
    const query = {
      ...listed.query,
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: version,
      timeoutSeconds: String(watchSeconds),
    };
    try {
      for await (const { type, object } of linesOf<T>(api, { ...listed, query }, either)) {
        if (type === 'ERROR') {
          // 410: the place to go on from is forgotten.
          if (object?.code === 410) return;
          throw new ApiRefusal({ method: 'GET', path: listed.path }, object?.code ?? 500, object?.message ?? 'the watch failed');
        }
        version = object?.metadata?.resourceVersion ?? version;
        if (object && (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')) take({ type, object });
      }
    } catch (error) {
      if (silent.signal.aborted && !signal.aborted) return;
      if (error instanceof ApiRefusal && error.status === 410) return;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function* linesOf<T>(api: Api, listed: Listed, signal: AbortSignal): AsyncGenerator<Line<T>> {
  const response = await stream(api, { method: 'GET', ...listed, signal });
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
    if (error instanceof ApiRefusal) throw error;
    throw unreachable('ended a watch', error);
  } finally {
    response.destroy();
  }
}
