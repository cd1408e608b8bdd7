import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import type Dockerode from 'dockerode';
import { unreachable } from '../engine-api.ts';

/** Thrown when the engine refuses the request itself. Contains the engine's message. */
export class BuildRefusal extends Error {
  readonly words: string;

  constructor(words: string) {
    super(words);
    this.name = 'BuildRefusal';
    this.words = words;
  }
}

export interface BuildCall {
  readonly query: Readonly<Record<string, string>>;
  readonly context: Readable;
  /** Closes the connection, which makes the engine stop the work done for it. */
  readonly signal: AbortSignal;
  onText(text: string): void;
}

interface Modem {
  dial(options: object, callback: (error: Error | null, response: IncomingMessage) => void): void;
}

const statuses = Object.fromEntries(Array.from({ length: 500 }, (_, offset) => [100 + offset, true] as const));

/**
 * Calls `POST /build` and reads the response to its end. dockerode's own method is not used: it opens a session for
 * BuildKit, which needs nothing from it, and it stays pending if the engine disconnects. Fails with ENGINE_UNREACHABLE,
 * or with a `BuildRefusal`.
 */
export async function callBuild(docker: Dockerode, build: BuildCall): Promise<void> {
  try {
    const response = await dial(docker, build);
    response.setEncoding('utf8');
    const isSuccess = response.statusCode === 200;
    let refusal = '';
    await pipeline(response, async (pieces: AsyncIterable<string>) => {
      for await (const piece of pieces) {
        if (isSuccess) build.onText(piece);
        else refusal += piece;
      }
    });
    if (!isSuccess) throw new BuildRefusal(wordsOf(refusal));
  } catch (error) {
    build.signal.throwIfAborted();
    if (error instanceof BuildRefusal) throw error;
    if (build.context.errored && build.context.errored !== error) throw build.context.errored;
    throw unreachable('went away during the build', error);
  } finally {
    build.context.destroy();
  }
}

function dial(docker: Dockerode, build: BuildCall): Promise<IncomingMessage> {
  const modem = docker.modem as unknown as Modem; // oxlint-disable-line typescript/no-unsafe-type-assertion -- its types lack abortSignal
  return new Promise((resolve, reject) => {
    build.signal.throwIfAborted();
    modem.dial(
      {
        path: '/build?',
        method: 'POST',
        options: { _query: build.query, _body: {} },
        file: build.context,
        isStream: true,
        statusCodes: statuses,
        abortSignal: build.signal,
      },
      (error, response) => (error ? reject(error) : resolve(response)),
    );
  });
}

function wordsOf(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    const message = typeof value === 'object' && value !== null && 'message' in value ? value.message : undefined;
    return typeof message === 'string' ? message : body;
  } catch {
    return body; // The body is plain text.
  }
}
