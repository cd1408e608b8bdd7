import { Sensitive } from '@davit/base';
import type { EngineConnection } from '../connection.ts';
import type { CallContext } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { PushedImage, PushRequest } from '../../image-builder.ts';
import { call, EngineRefusal } from '../engine-api.ts';
import { authOf, transfer } from './image-pull.ts';
import { BuildOutput } from '../../shared/build/output.ts';
import { pushFailure } from '../../shared/registry-words.ts';

/** See `ImageCarrier.push`. */
export async function pushImage(docker: EngineConnection, request: PushRequest, context: CallContext): Promise<PushedImage> {
  const { image, reference } = request;
  const { signal } = context;
  const colon = reference.lastIndexOf(':');
  const [repo, tag] = [reference.slice(0, colon), reference.slice(colon + 1)];
  const named = await call(docker, { method: 'POST', path: `/images/${image}/tag`, query: { repo, tag }, signal, accept: [404] });
  if (named.status === 404) {
    throw new DriverError({
      cause: 'IMAGE_MISSING',
      message: `The image ${image} was removed before it was pushed.`,
      retryable: true,
    });
  }
  try {
    return { digest: await send(docker, request, { repo, tag, context }) };
  } finally {
    // Removes the tag, also after an aborted push. 409: a container that is not Davit's uses the image.
    const forgotten = { method: 'DELETE', path: `/images/${reference}`, accept: [404, 409] } as const;
    await call(docker, { ...forgotten, signal: AbortSignal.timeout(forgetMilliseconds) }).catch(() => undefined);
  }
}

const forgetMilliseconds = 10_000;

interface Destination {
  readonly repo: string;
  readonly tag: string;
  readonly context: CallContext;
}

/** Pushes the image and returns the digest that the registry assigned. */
async function send(docker: EngineConnection, { reference, credentials }: PushRequest, to: Destination): Promise<string> {
  const { repo, tag, context } = to;
  const { signal } = context;
  const output = new BuildOutput((line) => context.log(line));
  let printed = '';
  const auth = authOf(reference, credentials ?? { username: '', password: new Sensitive('') });
  try {
    const request = { method: 'POST', path: `/images/${repo}/push`, query: { tag }, ...auth, signal } as const;
    for await (const text of transfer(docker, request, 'pushed')) {
      output.write(text);
      printed += text;
    }
  } catch (error) {
    if (error instanceof EngineRefusal) throw pushFailure(reference, error.words);
    throw error;
  }
  const { error } = output.end();
  if (error !== null) throw pushFailure(reference, error.message);
  const digest =
    /"Digest"\s*:\s*"(sha256:[0-9a-f]{64})"/.exec(printed)?.[1] ?? /digest: (sha256:[0-9a-f]{64})/.exec(printed)?.[1];
  if (digest !== undefined) return digest;
  throw new DriverError({
    cause: 'ENGINE_FAILED',
    message: `The engine pushed ${reference} but did not report its digest.`,
  });
}
