import { chunksOf } from '@davit/base-node';
import type { EngineConnection } from '../connection.ts';
import type { CallContext } from '../../driver.ts';
import type { PulledImage, PullRequest, RegistryCredentials } from '../../image-builder.ts';
import { DriverError } from '../../errors.ts';
import { call, EngineRefusal, stream, unreachable, type EngineRequest } from '../engine-api.ts';
import { BuildOutput } from '../../shared/build/output.ts';
import { knownWords, mayPass } from '../../shared/registry-words.ts';

interface Inspection {
  readonly Id: string;
  readonly Size: number;
  readonly RepoDigests?: readonly string[] | null;
  readonly Os?: string;
  readonly Architecture?: string;
}

/** See `ImageCarrier.pull`. */
export async function pullImage(docker: EngineConnection, request: PullRequest, context: CallContext): Promise<PulledImage> {
  const { reference } = request;
  const output = new BuildOutput((line) => context.log(line));
  try {
    await readPull(docker, request, { output, signal: context.signal });
  } catch (error) {
    if (error instanceof EngineRefusal) throw pullFailure(reference, error.words);
    throw error;
  }
  const { error } = output.end();
  if (error !== null) throw pullFailure(reference, error.message);
  const path = `/images/${reference}/json`;
  const found = await call<Inspection>(docker, { method: 'GET', path, signal: context.signal, accept: [404] });
  if (found.status === 404) throw pullFailure(reference, 'the engine does not have it after the pull');
  const { Id, Size, RepoDigests } = found.body;
  await warnOfProcessor(docker, found.body, context);
  return {
    id: Id.startsWith('sha256:') ? Id : `sha256:${Id}`,
    sizeBytes: Size,
    digest: digestOf(reference, RepoDigests ?? []),
  };
}

/**
 * Logs a warning if the image is for a different processor than this machine. A registry that has only one variant
 * delivers that one, whatever the processor. With an emulator the image may still run.
 */
async function warnOfProcessor(docker: EngineConnection, { Os, Architecture }: Inspection, context: CallContext): Promise<void> {
  const { signal } = context;
  const { body } = await call<{ readonly Arch?: string }>(docker, { method: 'GET', path: '/version', signal });
  if (Architecture === undefined || body.Arch === undefined || Architecture === '' || Architecture === body.Arch) return;
  context.log(
    `Warning: the image is for ${Os}/${Architecture}, and this machine is ${body.Arch}: it runs only if an emulator is set up.`,
  );
}

async function readPull(
  docker: EngineConnection,
  { reference, credentials }: PullRequest,
  { output, signal }: { readonly output: BuildOutput; readonly signal: AbortSignal },
): Promise<void> {
  const registryAuth = authOf(reference, credentials);
  const request = { method: 'POST', path: '/images/create', query: { fromImage: reference }, ...registryAuth, signal } as const;
  for await (const text of transfer(docker, request, 'pulled')) output.write(text);
}

/** Returns the credentials with which the engine authenticates to the registry of an image. */
export function authOf(reference: string, credentials: RegistryCredentials | null): Pick<EngineRequest, 'registryAuth'> {
  if (credentials === null) return {};
  const { username, password } = credentials;
  return { registryAuth: { username, password: password.reveal(), serveraddress: reference.split('/', 1)[0] ?? '' } };
}

/**
 * Yields the engine's progress output during a transfer, in pieces that may end anywhere. `done`: the verb for
 * messages, such as `pulled` or `pushed`.
 */
export async function* transfer(docker: EngineConnection, request: EngineRequest, done: string): AsyncGenerator<string> {
  const response = await stream(docker, request);
  const decoder = new TextDecoder();
  try {
    for await (const chunk of chunksOf(response)) yield decoder.decode(chunk, { stream: true });
  } catch (error) {
    request.signal.throwIfAborted();
    throw unreachable(`disconnected while it ${done} an image`, error);
  }
}

/** Converts the engine's message to the reason why an image could not be pulled. Pure. */
export function pullFailure(reference: string, words: string): DriverError {
  const { text, known } = knownWords(words, reference);
  const cause = known?.cause ?? 'ENGINE_FAILED';
  return new DriverError({
    cause,
    message: `The image ${reference} could not be pulled: ${text}.`,
    ...(known?.hint !== undefined && { hint: known.hint }),
    evidence: { original: text },
    retryable: mayPass(known),
  });
}

function digestOf(reference: string, digests: readonly string[]): string | null {
  const written = /@(sha256:[0-9a-f]{64})$/.exec(reference)?.[1];
  if (written !== undefined) return written;
  // Removes the tag. Engines shorten image names, so the end of the name is compared; that distinguishes the digests
  // well enough.
  const name = reference.replace(/:[^:/]*$/, '');
  const own = digests.find((digest) => name.endsWith(digest.split('@', 1)[0] ?? '')) ?? digests[0];
  return own?.split('@')[1] ?? null;
}
