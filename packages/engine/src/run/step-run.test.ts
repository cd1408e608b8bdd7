import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DriverError } from '@davit/drivers';
import { noCounts } from '../port.ts';
import { Canceled, runStep, type StepRunInput } from './step-run.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const minutes = 60_000;

interface Run {
  readonly recorded: readonly string[];
  readonly end: Promise<unknown>;
  readonly abandon: AbortController;
  readonly cancel: AbortController;
  isOver(): boolean;
}

/** Begins a step with this work and a deadline of two minutes by default. `changes`: other fields of the input. */
function begin(
  work: (signal: AbortSignal) => Promise<void>,
  deadlineSeconds = 120,
  changes: Partial<Pick<StepRunInput, 'isBegun' | 'isRepeated' | 'next'>> & { readonly isCanceled?: true } = {},
): Run {
  const recorded: string[] = [];
  const abandon = new AbortController();
  const cancel = new AbortController();
  // The deployment has only the fields that an empty step uses.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const input = {
    parts: { settings: {}, counts: noCounts },
    deployment: {},
    journal: {
      beginStep: () => Promise.resolve(void recorded.push('RUNNING')),
      endStep: ({ status, begins = null }: { readonly status: string; readonly begins?: number | null }) => {
        recorded.push(status);
        if (begins !== null) recorded.push(`begins ${begins}`);
        return Promise.resolve();
      },
    },
    log: { add: () => undefined, flush: () => Promise.resolve(), take: () => Promise.resolve('[]') },
    task: { serviceId: 's', name: 'Shop', outputs: new Map() },
    step: {
      name: 'start',
      deadlineSeconds,
      cancelable: true,
      run: async ({ call }: { readonly call: { readonly signal: AbortSignal } }) => {
        await work(call.signal);
        return {};
      },
    },
    position: 0,
    isRepeated: false,
    isBegun: false,
    next: () => null,
    abandon: abandon.signal,
    cancel: cancel.signal,
    force: new AbortController().signal,
    ...changes,
  } as unknown as StepRunInput;
  if (changes.isCanceled === true) cancel.abort();
  let over = false;
  const end = runStep(input)
    .catch((error: unknown) => error)
    .finally(() => (over = true));
  return { recorded, end, abandon, cancel, isOver: () => over };
}

const hard = (): Promise<void> => new Promise(() => undefined);
const hearing = (signal: AbortSignal): Promise<void> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });

test('a step ends in time, and one that fails for good fails at once', async () => {
  const done = begin(() => Promise.resolve());
  expect(await done.end).toEqual([]);
  expect(done.recorded).toEqual(['RUNNING', 'DONE']);
  const failed = begin(() => Promise.reject(new DriverError({ cause: 'START_FAILED', message: 'no such file' })));
  expect(await failed.end).toMatchObject({ code: 'START_FAILED' });
  expect(failed.recorded).toEqual(['RUNNING', 'FAILED']);
  expect(vi.getTimerCount()).toBe(0);
});

test('the end of a step records that the next one begins, whose own beginning is not recorded again', async () => {
  const first = begin(() => Promise.resolve(), 120, { next: () => 1 });
  await first.end;
  expect(first.recorded).toEqual(['RUNNING', 'DONE', 'begins 1']);
  const second = begin(() => Promise.resolve(), 120, { isBegun: true });
  await second.end;
  expect(second.recorded).toEqual(['DONE']);
  const failed = begin(() => Promise.reject(new Error('no')), 120, { next: () => 1 });
  await failed.end;
  expect(failed.recorded).toEqual(['RUNNING', 'FAILED']);
});

test('a cancel between two steps ends the one that was recorded to begin, and records nothing of another one', async () => {
  const begun = begin(hard, 120, { isBegun: true, isCanceled: true });
  expect(await begun.end).toBeInstanceOf(Canceled);
  expect(begun.recorded).toEqual(['CANCELED']);
  // The process that had begun it was killed before the cancel.
  const repeated = begin(hard, 120, { isRepeated: true, isCanceled: true });
  expect(await repeated.end).toBeInstanceOf(Canceled);
  expect(repeated.recorded).toEqual(['CANCELED']);
  const other = begin(hard, 120, { isCanceled: true });
  expect(await other.end).toBeInstanceOf(Canceled);
  expect(other.recorded).toEqual([]);
});

test('a step that hears its signal ends at its deadline', async () => {
  const late = begin(hearing);
  await vi.advanceTimersByTimeAsync(2 * minutes);
  expect(await late.end).toMatchObject({ code: 'STEP_TIMEOUT', message: 'start of Shop took longer than 120 s' });
  expect(late.recorded).toEqual(['RUNNING', 'FAILED']);
});

test('a step that may take months does not end at once', async () => {
  const long = begin(hearing, 2_147_483_647);
  await vi.advanceTimersByTimeAsync(60 * minutes);
  expect(long.isOver()).toBe(false);
  long.cancel.abort();
  expect(await long.end).toBeInstanceOf(Canceled);
});

test('one that does not hear it is given up ten minutes later, whatever ended it', async () => {
  const late = begin(hard);
  const canceled = begin(hard);
  const abandoned = begin(hard);
  canceled.cancel.abort();
  abandoned.abandon.abort();
  await vi.advanceTimersByTimeAsync(9 * minutes);
  expect([late, canceled, abandoned].map((one) => one.isOver())).toEqual([false, false, false]);
  await vi.advanceTimersByTimeAsync(4 * minutes);
  expect(await late.end).toMatchObject({ code: 'STEP_TIMEOUT' });
  expect(await canceled.end).toBeInstanceOf(Canceled);
  expect(canceled.recorded).toEqual(['RUNNING', 'CANCELED']);
  await abandoned.end;
  // Another runner owns the deployment by now.
  expect(abandoned.recorded).toEqual(['RUNNING']);
  expect(vi.getTimerCount()).toBe(0);
});
