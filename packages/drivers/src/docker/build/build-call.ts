import type { Readable } from 'node:stream';
import { chunksOf } from '@davit/base-node';
import { DriverError } from '../../errors.ts';
import type { EngineConnection } from '../connection.ts';
import { EngineRefusal, stream, unreachable } from '../engine-api.ts';

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

/**
 * Calls `POST /build` and reads the response to its end. Fails with ENGINE_UNREACHABLE, with a `BuildRefusal`, or with
 * the error of the context.
 */
export async function callBuild(docker: EngineConnection, build: BuildCall): Promise<void> {
  const { query, context, signal } = build;
  const decoder = new TextDecoder();
  try {
    const response = await stream(docker, { method: 'POST', path: '/build', query, archive: context, signal });
    for await (const chunk of chunksOf(response)) build.onText(decoder.decode(chunk, { stream: true }));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof EngineRefusal) throw new BuildRefusal(error.words);
    if (context.errored && context.errored !== error) throw context.errored;
    if (error instanceof DriverError) throw error;
    throw unreachable('disconnected during the build', error);
  } finally {
    context.destroy();
  }
}
