import type { ChildProcess } from 'node:child_process';
import { messageOf } from '@davit/base';
import { createFakeCluster, type FakeCluster } from '@davit/drivers';

/*
 * One fake cluster for several processes. It lives in the process of the test; other processes reach it over their IPC
 * channel to that process. Like a real cluster it outlives its callers, and a call whose caller was killed has either
 * taken effect or not.
 */

type Parts = Pick<FakeCluster, 'cluster' | 'builder' | 'carrier' | 'source' | 'gateway'>;

interface CallMessage {
  readonly call: number;
  readonly part: keyof Parts;
  readonly method: string;
  readonly values: readonly unknown[];
}
interface AbortMessage {
  readonly abort: number;
}
interface ResultMessage {
  readonly result: number;
  readonly value?: unknown;
  readonly error?: string;
}
interface BackMessage {
  readonly back: number;
  readonly values: readonly unknown[];
}

/** Serves the calls of a process to this cluster until the process exits. */
export function offerCluster(fake: FakeCluster, child: ChildProcess): void {
  const signals = new Map<number, AbortController>();
  const send = (message: ResultMessage | BackMessage): void => {
    if (child.connected) child.send(message, () => undefined);
  };
  const revived = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if ('$signal' in value) {
      const id = Number(value.$signal);
      const controller = signals.get(id) ?? new AbortController();
      signals.set(id, controller);
      return controller.signal;
    }
    if ('$back' in value) {
      const back = Number(value.$back);
      return (...values: readonly unknown[]): void => send({ back, values });
    }
    if (Array.isArray(value)) return value.map(revived);
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, revived(member)]));
  };
  child.on('message', (message: CallMessage | AbortMessage | { readonly part?: never }) => {
    if ('abort' in message) {
      signals.get(message.abort)?.abort();
      return;
    }
    // Other messages of the process are for other listeners.
    if (message.part === undefined) return;
    const { call: result, part, method, values } = message;
    const action: unknown = Reflect.get(fake[part], method);
    const answer = async (): Promise<unknown> =>
      typeof action === 'function' ? action.apply(fake[part], values.map(revived)) : action;
    answer().then(
      (value) => send({ result, value }),
      (error: unknown) => send({ result, error: messageOf(error) }),
    );
  });
  // No caller waits for the pending calls any more.
  child.once('exit', () => {
    for (const controller of signals.values()) controller.abort();
  });
}

/** Returns the cluster that the parent of this process offers. */
export function remoteCluster(): Parts {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  const backs = new Map<number, (...values: readonly unknown[]) => void>();
  let count = 0;
  process.on('message', (message: ResultMessage | BackMessage) => {
    if ('back' in message) {
      backs.get(message.back)?.(...message.values);
      return;
    }
    const call = waiting.get(message.result);
    waiting.delete(message.result);
    if (message.error === undefined) call?.resolve(message.value);
    else call?.reject(new Error(message.error));
  });
  const plain = (value: unknown): unknown => {
    if (typeof value === 'function') {
      const id = (count += 1);
      backs.set(id, (...values) => void Reflect.apply(value, undefined, values));
      return { $back: id };
    }
    if (value instanceof AbortSignal) {
      const id = (count += 1);
      const abort = (): void => void process.send?.({ abort: id });
      if (value.aborted) queueMicrotask(abort);
      else value.addEventListener('abort', abort, { once: true });
      return { $signal: id };
    }
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
  };
  const part = <Name extends keyof Parts>(name: Name): Parts[Name] => {
    const call = (method: string, values: readonly unknown[]): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const id = (count += 1);
        waiting.set(id, { resolve, reject });
        process.send?.({ call: id, part: name, method, values: values.map(plain) });
      });
    // A local instance defines which methods exist. Its properties that are not methods equal those of the remote
    // cluster.
    const local = createFakeCluster()[name];
    const proxy: unknown = new Proxy(local, {
      get: (target, method: string) => {
        const member: unknown = Reflect.get(target, method);
        return typeof member === 'function' && method !== 'check'
          ? (...values: readonly unknown[]) => call(method, values)
          : member;
      },
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the methods of what it stands for
    return proxy as Parts[Name];
  };
  return {
    cluster: part('cluster'),
    builder: part('builder'),
    carrier: part('carrier'),
    source: part('source'),
    gateway: part('gateway'),
  };
}
