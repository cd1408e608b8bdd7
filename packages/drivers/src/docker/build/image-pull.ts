import type Dockerode from 'dockerode';
import type { CallContext } from '../../driver.ts';
import type { PulledImage, PullRequest, RegistryCredentials } from '../../image-builder.ts';
import { DriverError, type Cause } from '../../errors.ts';
import { call, chunksOf, EngineRefusal, stream, unreachable, type EngineRequest } from '../engine-api.ts';
import { BuildOutput } from './output.ts';

interface Inspection {
  readonly Id: string;
  readonly Size: number;
  readonly RepoDigests?: readonly string[] | null;
  readonly Os?: string;
  readonly Architecture?: string;
}

interface KnownWords {
  readonly pattern: RegExp;
  readonly cause: Cause;
  readonly hint?: string;
}

// Words of Docker Engine 20.10 to 29 and of Podman 4 and 5, and of registries that they repeat.
const causes: readonly KnownWords[] = [
  { pattern: /no space left on device|disk quota exceeded/i, cause: 'DISK_FULL' },
  {
    pattern: /no matching manifest for|does not match the specified platform|no image found in (image index|manifest list)/i,
    cause: 'IMAGE_NOT_FOUND',
    hint: 'The image has no variant for this machine’s processor. Choose a tag that has one, or build it for this processor too.',
  },
  {
    pattern: /toomanyrequests|too many requests|rate limit|429/i,
    cause: 'REGISTRY_UNREACHABLE',
    hint: 'The registry was asked too often. Wait, or use a container registry with username and password, which may ask more often; deploying again is safe.',
  },
  {
    pattern: /server gave HTTP response to HTTPS client|first record does not look like a TLS handshake/i,
    cause: 'REGISTRY_UNREACHABLE',
    hint: 'The registry speaks plain http, which the container engine takes for this machine only. Give the registry a certificate, or have the operator name it among the engine’s insecure registries.',
  },
  {
    pattern: /x509|certificate|tls:/i,
    cause: 'REGISTRY_UNREACHABLE',
    hint: 'The container engine does not trust the registry’s certificate. Renew it or correct its name, or have the operator give the engine its authority (for Docker in /etc/docker/certs.d).',
  },
  {
    pattern: /manifest (?:for .* )?(?:not found|unknown)/i,
    cause: 'IMAGE_NOT_FOUND',
    hint: 'The registry has the image under other tags, or not at all. Check tag and image_name, and the registry’s username and password where it is private.',
  },
  { pattern: /name unknown|repository .* not found|does not exist|not found: /i, cause: 'IMAGE_NOT_FOUND' },
  {
    pattern: /incorrect username|invalid (?:username|credential)|wrong (?:username|password)/i,
    cause: 'REGISTRY_ACCESS_DENIED',
    hint: 'Username or password of the container registry is wrong. Correct them in its config, then deploy again.',
  },
  {
    pattern: /no basic auth|authentication required|unauthorized/i,
    cause: 'REGISTRY_ACCESS_DENIED',
    hint: 'The registry wants to know who asks. Check that the container registry has username and password, that they are right, and that they may read this image.',
  },
  { pattern: /access (?:to the resource is |was )?denied|denied|forbidden/i, cause: 'REGISTRY_ACCESS_DENIED' },
  {
    pattern:
      /no such host|i\/o timeout|timeout|connection (?:refused|reset)|handshake|network is unreachable|lookup |50[0234] |EOF/i,
    cause: 'REGISTRY_UNREACHABLE',
  },
  { pattern: /invalid reference format/i, cause: 'IMAGE_NOT_FOUND' },
];

/** See `ImageCarrier.pull`. */
export async function pullImage(docker: Dockerode, request: PullRequest, context: CallContext): Promise<PulledImage> {
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

/** A registry that has one variant only gives that one, whatever the processor. With an emulator it may run all the same. */
async function warnOfProcessor(docker: Dockerode, { Os, Architecture }: Inspection, context: CallContext): Promise<void> {
  const { signal } = context;
  const { body } = await call<{ readonly Arch?: string }>(docker, { method: 'GET', path: '/version', signal });
  if (Architecture === undefined || body.Arch === undefined || Architecture === '' || Architecture === body.Arch) return;
  context.log(
    `Warning: the image is for ${Os}/${Architecture}, and this machine is ${body.Arch}: it starts only where an emulator is set up.`,
  );
}

async function readPull(
  docker: Dockerode,
  { reference, credentials }: PullRequest,
  { output, signal }: { readonly output: BuildOutput; readonly signal: AbortSignal },
): Promise<void> {
  const registryAuth = authOf(reference, credentials);
  const request = { method: 'POST', path: '/images/create', query: { fromImage: reference }, ...registryAuth, signal } as const;
  for await (const text of transfer(docker, request, 'pulled')) output.write(text);
}

/** What the engine identifies itself with at the registry of an image. */
export function authOf(reference: string, credentials: RegistryCredentials | null): Pick<EngineRequest, 'registryAuth'> {
  if (credentials === null) return {};
  const { username, password } = credentials;
  return { registryAuth: { username, password: password.reveal(), serveraddress: reference.split('/', 1)[0] ?? '' } };
}

/** What the engine says while it carries an image, in pieces that end anywhere. `done`: pulled, pushed. */
export async function* transfer(docker: Dockerode, request: EngineRequest, done: string): AsyncGenerator<string> {
  const response = await stream(docker, request);
  const decoder = new TextDecoder();
  try {
    for await (const chunk of chunksOf(response)) yield decoder.decode(chunk, { stream: true });
  } catch (error) {
    request.signal.throwIfAborted();
    throw unreachable(`went away while it ${done} an image`, error);
  }
  if (!response.complete) throw unreachable(`went away while it ${done} an image`, new Error('the answer has no end'));
}

/** Why an image could not be had, by the engine's words. Pure. */
export function pullFailure(reference: string, words: string): DriverError {
  const { text, known } = knownWords(words);
  const cause = known?.cause ?? 'ENGINE_FAILED';
  return new DriverError({
    cause,
    message: `The image ${reference} could not be had: ${text}.`,
    ...(known?.hint !== undefined && { hint: known.hint }),
    evidence: { original: text },
    retryable: cause === 'REGISTRY_UNREACHABLE',
  });
}

/** An engine's words without what ends them, and what they are known to mean. */
export function knownWords(words: string): { readonly text: string; readonly known: KnownWords | undefined } {
  const text = words.trim().replace(/\.$/, '');
  return { text, known: causes.find(({ pattern }) => pattern.test(text)) };
}

function digestOf(reference: string, digests: readonly string[]): string | null {
  const written = /@(sha256:[0-9a-f]{64})$/.exec(reference)?.[1];
  if (written !== undefined) return written;
  // Without tag, and as engines shorten names: what comes last tells them apart well enough.
  const name = reference.replace(/:[^:/]*$/, '');
  const own = digests.find((digest) => name.endsWith(digest.split('@', 1)[0] ?? '')) ?? digests[0];
  return own?.split('@')[1] ?? null;
}
