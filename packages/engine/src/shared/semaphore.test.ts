import { expect, test } from 'vitest';
import { Semaphore } from './semaphore.ts';

/** Returns an action that runs until `end` is called. */
function work(): { readonly begun: () => boolean; readonly action: () => Promise<void>; end(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let begun = false;
  const action = (): Promise<void> => {
    begun = true;
    return promise;
  };
  return { begun: () => begun, action, end: resolve };
}

test('so many work at a time, and the others follow in order', async () => {
  const semaphore = new Semaphore(2);
  const works = [work(), work(), work(), work()];
  const done = works.map(({ action }) => semaphore.use(action));
  const begun = (): boolean[] => works.map((one) => one.begun());
  expect(begun()).toEqual([true, true, false, false]);
  works[1]?.end();
  await done[1];
  await expect.poll(begun).toEqual([true, true, true, false]);
  works[0]?.end();
  works[2]?.end();
  works[3]?.end();
  await Promise.all(done);
});

test('who is aborted while it waits never begins, and keeps nobody behind it from its place', async () => {
  const semaphore = new Semaphore(1);
  const [first, second, third] = [work(), work(), work()];
  const abort = new AbortController();
  const done = semaphore.use(first.action);
  const left = semaphore.use(second.action, abort.signal);
  const last = semaphore.use(third.action, new AbortController().signal);
  abort.abort(new Error('enough'));
  await expect(left).rejects.toThrow('enough');
  first.end();
  await done;
  await expect.poll(third.begun).toBe(true);
  third.end();
  await last;
  expect(second.begun()).toBe(false);
  await expect(semaphore.use(second.action, abort.signal)).rejects.toThrow('enough');
});

test('what fails gives its place back', async () => {
  const semaphore = new Semaphore(1);
  await expect(semaphore.use(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await semaphore.use(() => Promise.resolve('next'))).toBe('next');
});
