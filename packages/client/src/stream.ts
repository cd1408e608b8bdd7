import type { StreamEvent } from '@davit/contract';
import { ApiError } from './api-error.ts';
import type { HttpResponse } from './transport.ts';

/** Options for following a stream. */
export interface StreamOptions {
  /** Id of the last known event. The stream resumes after this event. */
  readonly lastEventId?: string;
  /** Whether to reconnect when the connection is lost. Default: true. */
  readonly reconnect?: boolean;
  readonly signal?: AbortSignal;
  /** Called for everything that the server sends, also for the heartbeats that are no events. */
  readonly onAlive?: () => void;
}

/**
 * An event, with the id from which to resume once the event was processed. The id is null before the first event with
 * an id.
 */
export type Received = StreamEvent & { readonly id: string | null };

type Open = (lastEventId: string | null, signal: AbortSignal) => Promise<HttpResponse>;

const firstPauseMilliseconds = 500;
const longestPauseMilliseconds = 30_000;
/**
 * The silence after which a connection counts as lost. A server sends something every 15 seconds unless it is set to
 * another time: each silent connection doubles the patience for the next one.
 */
const firstSilenceMilliseconds = 45_000;
const longestSilenceMilliseconds = 720_000;
/** HTTP statuses of servers and proxies that are temporarily unavailable. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Follows a stream across its connections. */
export async function* follow(open: Open, options: StreamOptions): AsyncGenerator<Received> {
  const { reconnect = true, signal, onAlive } = options;
  let last = options.lastEventId ?? null;
  let failures = 0;
  let silence = firstSilenceMilliseconds;
  for (;;) {
    signal?.throwIfAborted();
    const leave = new AbortController();
    const either = signal === undefined ? leave.signal : AbortSignal.any([leave.signal, signal]);
    let afterSeconds: number | null = null;
    // Nothing reports a connection whose other end is gone: a machine that slept, a network that changed.
    const watch = new SilenceWatch(silence, () => leave.abort());
    try {
      const response = await open(last, either);
      if (!response.ok || response.body === null) throw ApiError.of(response.status, await response.text(), response.headers);
      for await (const one of parsed(response.body, () => watch.receive())) {
        failures = 0;
        onAlive?.();
        last = one.id ?? last;
        const event = toEvent(one);
        if (event === null) continue;
        yield { ...event, id: last };
        if (event.event === 'END' && !event.data.resume) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!reconnect || (error instanceof ApiError && !passing.has(error.status))) throw error;
      if (error instanceof ApiError) afterSeconds = error.retryAfterSeconds;
    } finally {
      watch.end();
      leave.abort();
    }
    if (watch.isSilent) silence = Math.min(longestSilenceMilliseconds, silence * 2);
    if (!reconnect) return;
    const pause = Math.min(longestPauseMilliseconds, firstPauseMilliseconds * 2 ** failures);
    failures += 1;
    await sleep(afterSeconds === null ? pause : afterSeconds * 1000, signal);
  }
}

/** Calls a function once when the server has sent nothing for a time. */
class SilenceWatch {
  readonly #milliseconds: number;
  readonly #onSilence: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  isSilent = false;

  constructor(milliseconds: number, onSilence: () => void) {
    this.#milliseconds = milliseconds;
    this.#onSilence = onSilence;
    this.receive();
  }

  receive(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isSilent = true;
      this.#onSilence();
    }, this.#milliseconds);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Content of one block of the event stream. */
export interface Block {
  readonly id: string | null;
  readonly event: string;
  /** Data of the event; null if the block only updates the id. */
  readonly data: string | null;
}

function toEvent({ event, data }: Block): StreamEvent | null {
  if (data === null) return null;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a server of the same contract sends; a newer one's events pass too
  return { event, data: JSON.parse(data) } as StreamEvent;
}

/**
 * Parses blocks of server-sent events as specified in the HTML standard (section 9.2): one field per line, terminated
 * by an empty line. A block that the end of the connection cuts off is omitted. `onBytes` is called for all that comes.
 */
export async function* parsed(bytes: ReadableStream<Uint8Array>, onBytes?: () => void): AsyncGenerator<Block> {
  const decoder = new TextDecoder();
  let rest = '';
  let fields = new Fields();
  for await (const chunk of chunksOf(bytes)) {
    onBytes?.();
    rest += decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be the first half of a line break.
    const held = rest.endsWith('\r') ? '\r' : '';
    const lines = rest.slice(0, rest.length - held.length).split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? '') + held;
    for (const line of lines) {
      if (line !== '') fields.add(line);
      else {
        const block = fields.end();
        fields = new Fields();
        if (block !== null) yield block;
      }
    }
  }
}

// Not every browser can iterate over a stream.
async function* chunksOf(bytes: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = bytes.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // The reader may be left before the end, or after the connection broke.
    await reader.cancel().catch(() => undefined);
  }
}

class Fields {
  #id: string | null = null;
  #event = 'message';
  #data: string[] = [];

  add(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'event') this.#event = value;
    else if (name === 'data') this.#data.push(value);
  }

  end(): Block | null {
    if (this.#id === null && this.#data.length === 0) return null;
    return { id: this.#id, event: this.#event, data: this.#data.length === 0 ? null : this.#data.join('\n') };
  }
}

/** Resolves after this time, or as soon as the signal aborts. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end, { once: true });
  });
}
