import type { ServerResponse } from 'node:http';

/** The client end of one stream of server-sent events. */
export interface Outlet {
  /** Aborted once nothing can be written any more: the client disconnected, or read nothing until the timeout. */
  readonly gone: AbortSignal;
  /** Writes to the client. Resolves once the client has read enough for the next write; never rejects. */
  write(text: string | Buffer): Promise<void>;
  /** Writes the final text and ends the response. */
  end(text: string): void;
}

/** Bytes that a client must read within its patience. A longer text is written in parts, so a slow client has time. */
const bytesAtOnce = 32_768;

export interface OutletOptions {
  /** Milliseconds that a client may read nothing before the stream ends. */
  readonly patienceMilliseconds: number;
  /** The final text for a client that read nothing until the timeout, in case it resumes reading. */
  readonly farewell: string;
}

/**
 * Returns the outlet of a response. At most one write and the buffer of the socket wait for a client. A client that
 * reads nothing is disconnected, since it would hold both without limit. The buffer then has the rest of the text, so
 * that the farewell does not come in the middle of an event.
 */
export function openOutlet(response: ServerResponse, options: OutletOptions): Outlet {
  const gone = new AbortController();
  const end = (text: string | Buffer): void => {
    if (gone.signal.aborted) return;
    gone.abort();
    response.end(text);
    // The socket is destroyed if the client does not read the final text either.
    const cut = setTimeout(() => response.destroy(), options.patienceMilliseconds);
    response.once('close', () => clearTimeout(cut));
  };
  if (response.destroyed) gone.abort();
  response.once('close', () => gone.abort());
  response.on('error', () => gone.abort());
  return {
    gone: gone.signal,
    write: async (text) => {
      const bytes = typeof text === 'string' ? Buffer.from(text) : text;
      for (let at = 0; at < bytes.length && !gone.signal.aborted; at += bytesAtOnce) {
        const next = at + bytesAtOnce;
        if (response.write(bytes.subarray(at, next))) continue;
        const isTaken = await drained(response, gone.signal, options.patienceMilliseconds);
        if (!isTaken) end(Buffer.concat([bytes.subarray(next), Buffer.from(options.farewell)]));
      }
    },
    end,
  };
}

function drained(response: ServerResponse, gone: AbortSignal, milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (isTaken: boolean): void => {
      clearTimeout(timer);
      response.off('drain', onDrain);
      gone.removeEventListener('abort', onGone);
      resolve(isTaken);
    };
    const onDrain = (): void => finish(true);
    const onGone = (): void => finish(true);
    const timer = setTimeout(() => finish(false), milliseconds);
    response.once('drain', onDrain);
    gone.addEventListener('abort', onGone, { once: true });
  });
}
