import type { ServerResponse } from 'node:http';

/** Where a stream of server-sent events goes to: one client. */
export interface Outlet {
  /** Aborted once nothing can be written any more: the client went, or took nothing for too long. */
  readonly gone: AbortSignal;
  /** Resolves when the client has taken so much that there is room again; never rejects. */
  write(text: string): Promise<void>;
  /** Writes the last words and ends. */
  end(text: string): void;
}

export interface OutletOptions {
  /** How long a client may take nothing. */
  readonly patienceMilliseconds: number;
  /** What a client that took nothing is told, should it read on. */
  readonly farewell: string;
}

/**
 * Begins the answer and gives its outlet. What waits for a client is one write and what its socket holds; a client that takes nothing
 * is cut off, as it would keep both for as long as it likes.
 */
export function openOutlet(response: ServerResponse, options: OutletOptions): Outlet {
  const gone = new AbortController();
  const end = (text: string): void => {
    if (gone.signal.aborted) return;
    gone.abort();
    response.end(text);
    // Who does not take the end either keeps no socket.
    const cut = setTimeout(() => response.destroy(), options.patienceMilliseconds);
    response.once('close', () => clearTimeout(cut));
  };
  if (response.destroyed) gone.abort();
  response.once('close', () => gone.abort());
  response.on('error', () => gone.abort());
  return {
    gone: gone.signal,
    write: async (text) => {
      if (gone.signal.aborted || response.write(text)) return;
      const isTaken = await drained(response, gone.signal, options.patienceMilliseconds);
      if (!isTaken) end(options.farewell);
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
