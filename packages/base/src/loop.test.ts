import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Loop } from './loop.ts';

const everyMilliseconds = 1_000;

/** A loop whose looks end when the test says so. */
function recordedLoop(options: { readonly everyMilliseconds?: number } = { everyMilliseconds }) {
  const looks: PromiseWithResolvers<void>[] = [];
  const errors: unknown[] = [];
  let [running, maxRunning] = [0, 0];
  const look = async (): Promise<void> => {
    const end = Promise.withResolvers<void>();
    looks.push(end);
    running += 1;
    maxRunning = Math.max(maxRunning, running);
    try {
      await end.promise;
    } finally {
      running -= 1;
    }
  };
  const loop = new Loop({ look, onError: (error) => errors.push(error), ...options });
  return { loop, looks, errors, running: () => running, maxRunning: () => maxRunning };
}

/** Runs everything that is due without the passing of time. */
const flush = async (): Promise<void> => {
  await vi.advanceTimersByTimeAsync(0);
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a loop', () => {
  test('looks after each interval, and not before the first', async () => {
    const { loop, looks } = recordedLoop();
    loop.start();
    await vi.advanceTimersByTimeAsync(everyMilliseconds - 1);
    expect(looks).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(looks).toHaveLength(1);
    looks[0]?.resolve();
    await vi.advanceTimersByTimeAsync(everyMilliseconds);
    expect(looks).toHaveLength(2);
  });

  test('has one timer however often it is started', async () => {
    const { loop, looks } = recordedLoop();
    loop.start();
    loop.start();
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(everyMilliseconds);
    expect(looks).toHaveLength(1);
  });

  test('begins a look before `wake` returns, also without being started', () => {
    const { loop, looks } = recordedLoop();
    void loop.wake();
    expect(looks).toHaveLength(1);
    expect(loop.isLooking).toBe(true);
  });

  test('looks once more for all calls of `wake` during a look', async () => {
    const { loop, looks } = recordedLoop();
    void loop.wake();
    for (let call = 0; call < 5; call += 1) void loop.wake();
    expect(looks).toHaveLength(1);
    looks[0]?.resolve();
    await flush();
    expect(looks).toHaveLength(2);
    looks[1]?.resolve();
    await flush();
    expect(looks).toHaveLength(2);
    expect(loop.isLooking).toBe(false);
  });

  test('resolves a call of `wake` only after a look that began after the call', async () => {
    const { loop, looks } = recordedLoop();
    const ended: string[] = [];
    void loop.wake().then(() => ended.push('first'));
    void loop.wake().then(() => ended.push('second'));
    looks[0]?.resolve();
    await flush();
    expect(ended).toEqual(['first']);
    looks[1]?.resolve();
    await flush();
    expect(ended).toEqual(['first', 'second']);
  });

  test('skips the turns of the timer during a look', async () => {
    const { loop, looks } = recordedLoop();
    loop.start();
    await vi.advanceTimersByTimeAsync(5 * everyMilliseconds);
    expect(looks).toHaveLength(1);
    looks[0]?.resolve();
    await vi.advanceTimersByTimeAsync(everyMilliseconds - 1);
    expect(looks).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(looks).toHaveLength(2);
  });

  test('reports a failed look, and continues', async () => {
    const { loop, looks, errors } = recordedLoop();
    loop.start();
    const woken = loop.wake();
    const again = loop.wake();
    const failure = new Error('the database is unreachable');
    looks[0]?.reject(failure);
    await expect(woken).resolves.toBeUndefined();
    expect(errors).toEqual([failure]);
    looks[1]?.resolve();
    await again;
    await vi.advanceTimersByTimeAsync(everyMilliseconds);
    expect(looks).toHaveLength(3);
    expect(errors).toHaveLength(1);
  });

  test('survives a look that throws before its first pause', async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const failure = new Error('at once');
    const look = vi.fn<() => Promise<void>>().mockImplementation(() => {
      throw failure;
    });
    const loop = new Loop({ look, onError });
    await loop.wake();
    await loop.wake();
    expect(look).toHaveBeenCalledTimes(2);
    expect(onError.mock.calls).toEqual([[failure], [failure]]);
    expect(loop.isLooking).toBe(false);
  });

  test('waits for the running look when it is stopped, and begins no other', async () => {
    const { loop, looks } = recordedLoop();
    loop.start();
    void loop.wake();
    const requested = loop.wake();
    let isStopped = false;
    const stopped = loop.stop().then(() => (isStopped = true));
    expect(loop.signal.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(3 * everyMilliseconds);
    expect(isStopped).toBe(false);
    looks[0]?.resolve();
    await stopped;
    await expect(requested).resolves.toBeUndefined();
    await loop.wake();
    loop.start();
    await vi.advanceTimersByTimeAsync(3 * everyMilliseconds);
    expect(looks).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('may be stopped again, and before it was started', async () => {
    const { loop, looks } = recordedLoop();
    await loop.stop();
    await loop.stop();
    loop.start();
    expect(vi.getTimerCount()).toBe(0);
    expect(looks).toHaveLength(0);
  });

  test('is settled after the last look that was asked for', async () => {
    const { loop, looks } = recordedLoop();
    let isSettled = false;
    void loop.wake();
    void loop.wake();
    const settled = loop.settled().then(() => (isSettled = true));
    looks[0]?.resolve();
    await flush();
    expect(isSettled).toBe(false);
    looks[1]?.resolve();
    await settled;
    await expect(loop.settled()).resolves.toBeUndefined();
  });

  test('has no timer without an interval', () => {
    const { loop } = recordedLoop({});
    loop.start();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test.each([
  [true, false],
  [false, true],
])('a loop with unref %s keeps the process running: %s', async (unref, isHeld) => {
  vi.useRealTimers();
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const loop = new Loop({ look: () => Promise.resolve(), onError: () => undefined, everyMilliseconds, unref });
  loop.start();
  expect(timers() - before).toBe(isHeld ? 1 : 0);
  await loop.stop();
});

type Step = 'wake' | 'end' | 'fail' | 'tick' | 'stop';

/** Looks that must have begun, by a model that knows no promises. */
class Model {
  begun = 0;
  errors = 0;
  isLooking = false;
  isAsked = false;
  isStopped = false;

  take(step: Step): void {
    if (step === 'stop') {
      this.isStopped = true;
      this.isAsked = false;
    } else if (step === 'end' || step === 'fail') this.#end(step === 'fail');
    else if (this.isStopped) return;
    else if (!this.isLooking) this.#begin();
    else if (step === 'wake') this.isAsked = true;
  }

  #begin(): void {
    this.begun += 1;
    this.isLooking = true;
  }

  #end(isFailure: boolean): void {
    if (!this.isLooking) return;
    this.errors += isFailure ? 1 : 0;
    this.isLooking = false;
    if (this.isAsked) this.#begin();
    this.isAsked = false;
  }
}

const steps = fc.array(fc.constantFrom<Step>('wake', 'wake', 'wake', 'end', 'end', 'fail', 'tick', 'stop'), { maxLength: 30 });

test('any order of wakes, ends, failures, ticks and a stop gives the looks of the model, one at a time', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (order) => {
      const { loop, looks, errors, running, maxRunning } = recordedLoop();
      const model = new Model();
      const waits: Promise<void>[] = [];
      loop.start();
      for (const step of order) {
        model.take(step);
        if (step === 'wake') waits.push(loop.wake());
        if (step === 'end') looks.at(-1)?.resolve();
        if (step === 'fail') looks.at(-1)?.reject(new Error('a failed look'));
        if (step === 'tick') await vi.advanceTimersByTimeAsync(everyMilliseconds);
        if (step === 'stop') waits.push(loop.stop());
        await flush();
        expect([looks.length, errors.length, loop.isLooking, running()]).toEqual([
          model.begun,
          model.errors,
          model.isLooking,
          model.isLooking ? 1 : 0,
        ]);
      }
      const stopped = loop.stop();
      looks.at(-1)?.resolve();
      await stopped;
      // No caller waits for ever.
      await Promise.all(waits);
      expect(looks).toHaveLength(model.begun);
      expect(maxRunning()).toBeLessThanOrEqual(1);
    }),
    { numRuns: 300 },
  );
});

test('each wake is followed by a look that begins after it, whatever happens between two turns of the event loop', async () => {
  // Here steps follow each other without waiting: wakes fall into the moment between two looks.
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 20 }), async (turns) => {
      let [begun, running] = [0, 0];
      const errors: unknown[] = [];
      const loop = new Loop({
        onError: (error) => errors.push(error),
        look: async () => {
          begun += 1;
          running += 1;
          expect(running).toBe(1);
          await Promise.resolve();
          running -= 1;
        },
      });
      const waits = [];
      for (const microtasks of turns) {
        const [before, wasLooking] = [begun, loop.isLooking];
        waits.push(loop.wake().then(() => expect(begun).toBeGreaterThan(before)));
        expect(begun).toBe(wasLooking ? before : before + 1);
        for (let turn = 0; turn < microtasks; turn += 1) await Promise.resolve();
      }
      await Promise.all(waits);
      await loop.settled();
      expect(begun).toBeLessThanOrEqual(turns.length);
      expect([running, errors]).toEqual([0, []]);
    }),
    { numRuns: 500 },
  );
});
