import { ApiError, type Client, type Received } from '@davit/client';
import { expect, test } from 'vitest';
import { followLines } from './tail.ts';

const line = (id: string) => ({ id, created_at: `2026-11-27T12:00:0${id}Z`, message: `line ${id}`, level: null });

/** A server whose log of long ago is no longer kept: it does not know the line that was printed last. */
function forgetful(): Client {
  let isFirst = true;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only these two operations are called
  return {
    call: (_id: string, { query }: { query: { line?: string } }) => {
      if (query.line !== undefined) return Promise.reject(ApiError.of(404, '{}', new Headers()));
      const lines = isFirst ? [line('1')] : [line('8'), line('9')];
      isFirst = false;
      return Promise.resolve({ lines, older: null, newer: null });
    },
    stream: async function* (): AsyncGenerator<Partial<Received>> {
      yield await Promise.resolve({ event: 'OPEN' });
      yield { event: 'OPEN' };
      yield { event: 'RESET' };
    },
  } as unknown as Client;
}

test('a log is followed further when the line that was printed last is no longer kept', async () => {
  const printed: string[] = [];
  const options = { serviceId: 's', wanted: {}, count: 10, signal: new AbortController().signal, onReturn: () => undefined };
  for await (const { message } of followLines(forgetful(), options)) printed.push(message);
  expect(printed).toEqual(['line 1', 'line 8', 'line 9']);
});
