/** One call of a driver method, as scripts and tests see it. */
export interface FakeCall {
  readonly method: string;
  /** The service concerned; '' if there is none. */
  readonly service: string;
  readonly detail: string;
  /** Only for `retire`: the ids of the instances that it removes. */
  readonly instances?: readonly string[];
}

/**
 * Called before a call takes effect. It may throw (the call fails), wait (the call is slow), or never resolve (the call
 * hangs until its signal aborts). `after` is called once the call has taken effect; throwing there simulates a lost
 * response.
 */
export interface FakeScript {
  before?(call: FakeCall, signal: AbortSignal): Promise<void> | void;
  after?(call: FakeCall, signal: AbortSignal): Promise<void> | void;
}

/** Records each call and runs the script for it. */
export class Calls {
  script: FakeScript = {};
  readonly list: FakeCall[] = [];

  async call<T>(call: FakeCall, signal: AbortSignal, effect: () => T): Promise<T> {
    this.list.push(call);
    signal.throwIfAborted();
    await orAborted(this.script.before?.(call, signal), signal);
    const result = effect();
    await orAborted(this.script.after?.(call, signal), signal);
    return result;
  }
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function orAborted(work: Promise<void> | void, signal: AbortSignal): Promise<void> {
  if (work === undefined) return;
  await Promise.race([work, aborted(signal)]);
  signal.throwIfAborted();
}
