/** One call of a driver's method, as scripts and tests see it. */
export interface FakeCall {
  readonly method: string;
  /** The service concerned; '' where there is none. */
  readonly service: string;
  readonly detail: string;
  /** Of `retire`: the ids of the instances that it takes away. */
  readonly instances?: readonly string[];
}

/**
 * Called before a call takes effect: may throw (the call fails), wait (it is slow), or never resolve (it hangs until its signal
 * aborts). `after` is called when it has taken effect: throwing there is an answer that was lost on its way.
 */
export interface FakeScript {
  before?(call: FakeCall, signal: AbortSignal): Promise<void> | void;
  after?(call: FakeCall, signal: AbortSignal): Promise<void> | void;
}

/** Notes each call, and does with it what the script says. */
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
