import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openOutlet } from './outlet.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const patienceMilliseconds = 1000;
const farewell = 'farewell';

/** The response to a client that reads nothing until its `drain` event. */
class SlowResponse extends EventEmitter {
  readonly destroyed = false;
  readonly writes: string[] = [];
  ended: string | null = null;

  write(bytes: Buffer): boolean {
    this.writes.push(bytes.toString());
    return false;
  }

  end(bytes: Buffer | string): void {
    this.ended = bytes.toString();
  }
}

function open(response: SlowResponse) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that an outlet uses
  return openOutlet(response as unknown as ServerResponse, { patienceMilliseconds, farewell });
}

test('a client that reads slowly has time for each part of a long text', async () => {
  const response = new SlowResponse();
  const outlet = open(response);
  const text = Array.from({ length: 15_000 }, (_, index) => `${index}\n`).join('');
  const written = outlet.write(Buffer.from(text));
  const parts = Math.ceil(text.length / 32_768);
  for (let part = 0; part < parts; part += 1) {
    await vi.advanceTimersByTimeAsync(patienceMilliseconds - 1);
    response.emit('drain');
  }
  await written;
  expect(response.writes).toHaveLength(parts);
  expect(response.writes.join('')).toBe(text);
  expect(outlet.gone.aborted).toBe(false);
});

test('a client that reads nothing gets the rest of the text and the farewell, and nothing after it', async () => {
  const response = new SlowResponse();
  const outlet = open(response);
  const text = 'x'.repeat(40_000);
  const written = outlet.write(text);
  await vi.advanceTimersByTimeAsync(patienceMilliseconds);
  await written;
  expect(response.writes).toHaveLength(1);
  expect([...response.writes, response.ended].join('')).toBe(`${text}${farewell}`);
  await outlet.write('more');
  expect(response.writes).toHaveLength(1);
  response.emit('close');
});

test('a client that disconnects gets no further part', async () => {
  const response = new SlowResponse();
  const outlet = open(response);
  const written = outlet.write('x'.repeat(100_000));
  response.emit('close');
  await written;
  expect(response.writes).toHaveLength(1);
  expect(response.ended).toBeNull();
});
