import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { ApiError } from './api-error.ts';
import { follow, parsed, type Block, type Received } from './stream.ts';

function bytesOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(chunks);
}

async function blocksOf(chunks: readonly Uint8Array[]): Promise<Block[]> {
  return Array.fromAsync(parsed(bytesOf(chunks)));
}

const encoder = new TextEncoder();

test('blocks are the same wherever the wire was cut, and with each of the line breaks', async () => {
  const text = 'retry: 1000\nid: s1.0\nevent: OPEN\ndata: {"resumed":false}\n\n: nothing new\nid: s2.0\n\ndata: ä€\ndata:b\n\n';
  const expected = [
    { id: 's1.0', event: 'OPEN', data: '{"resumed":false}' },
    { id: 's2.0', event: 'message', data: null },
    { id: null, event: 'message', data: 'ä€\nb' },
  ];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('\n', '\r\n', '\r'), fc.array(fc.nat(20)), async (lineBreak, sizes) => {
      const bytes = encoder.encode(text.replaceAll('\n', lineBreak));
      const chunks: Uint8Array[] = [];
      let at = 0;
      for (const size of sizes) chunks.push(bytes.slice(at, (at += size)));
      // A carriage return at the very end may be the first half of a line break: only the next chunk shows it.
      chunks.push(bytes.slice(at), encoder.encode(':\n'));
      expect(await blocksOf(chunks)).toEqual(expected);
    }),
  );
});

test('what the end of the connection cuts off is no event', async () => {
  expect(await blocksOf([encoder.encode('id: a\nevent: OPEN\ndata: {"resumed":true}\n')])).toEqual([]);
});

const answer = (text: string, status = 200): Response => new Response(text, { status });

test('a stream is followed over its connections, behind the last id, until it says that there is nothing more', async () => {
  const requested: (string | null)[] = [];
  const answers = [
    () => answer('id: s1.0\nevent: OPEN\ndata: {"resumed":false}\n\n: x\nid: s2.0\n\n'),
    () => answer('{"code": "OVERLOADED"}', 503),
    () => {
      throw new TypeError('the network is away');
    },
    () => answer('id: s3.0\nevent: END\ndata: {"code":"DONE","message":"","resume":false}\n\n'),
  ];
  const received: Received[] = [];
  const open = async (id: string | null): Promise<Response> => {
    requested.push(id);
    const next = answers.shift();
    if (next === undefined) throw new Error('asked too often');
    return Promise.resolve(next());
  };
  for await (const one of follow(open, {})) received.push(one);
  expect(requested).toEqual([null, 's2.0', 's2.0', 's2.0']);
  expect(received.map(({ event, id }) => [event, id])).toEqual([
    ['OPEN', 's1.0'],
    ['END', 's3.0'],
  ]);
});

test('a refusal is thrown at once', async () => {
  const open = (): Promise<Response> => Promise.resolve(answer('{"code": "FORBIDDEN", "message": "no"}', 403));
  await expect(Array.fromAsync(follow(open, {}))).rejects.toThrow(ApiError);
});

test('a connection that is silent is opened again behind the last id; a server that sends seldom is not given up', async () => {
  vi.useFakeTimers();
  const requested: (string | null)[] = [];
  const open = async (id: string | null, signal: AbortSignal): Promise<Response> => {
    requested.push(id);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(encoder.encode('id: s1.0\nevent: OPEN\ndata: {"resumed":false}\n\n'));
        const beat = setInterval(() => controller.enqueue(encoder.encode(': x\n\n')), 60_000);
        signal.addEventListener('abort', () => {
          clearInterval(beat);
          controller.error(new Error('aborted'));
        });
      },
    });
    return Promise.resolve(new Response(body));
  };
  const leave = new AbortController();
  const following = Array.fromAsync(follow(open, { signal: leave.signal })).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(50_000);
  expect(requested).toEqual([null, 's1.0']);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(requested).toHaveLength(2);
  leave.abort();
  await following;
  vi.useRealTimers();
});
