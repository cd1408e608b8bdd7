import { retry } from '@davit/base';
import type { EngineConnection } from './connection.ts';
import { DriverError } from '../errors.ts';
import { call, EngineRefusal } from './engine-api.ts';
import { translated } from './refusals.ts';

/** The fields that Davit reads of the configuration of an image. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[] | null;
  readonly Cmd?: readonly string[] | null;
  readonly Labels?: Readonly<Record<string, string>> | null;
  readonly Volumes?: Readonly<Record<string, object>> | null;
  readonly Healthcheck?: { readonly Test?: readonly string[] | null } | null;
}

// An engine under load answers with 500 now and then.
const again = { attempts: 5, firstPauseMilliseconds: 20, maximumPauseMilliseconds: 200 };

/**
 * Returns the configuration of an image, which is empty if the engine does not have the image: the start fails in that
 * case. Fails with ENGINE_FAILED if the engine cannot read the image, which is retryable if the engine itself failed.
 * Without the configuration it is unknown whether the program is an init process.
 */
export async function readImageConfig(docker: EngineConnection, image: string, signal: AbortSignal): Promise<ImageConfig> {
  const path = `/images/${encodeURIComponent(image)}/json`;
  const isRetryable = (error: unknown): boolean => error instanceof EngineRefusal && error.status >= 500;
  try {
    const answer = await retry({ ...again, isRetryable, signal }, () =>
      call<{ readonly Config?: ImageConfig | null }>(docker, { method: 'GET', path, signal, accept: [404] }),
    );
    return (answer.status === 404 ? null : answer.body.Config) ?? {};
  } catch (error) {
    const failure = translated(error, `The image ${image} could not be read`);
    const isBusy = isRetryable(error) && failure instanceof DriverError && failure.code === 'ENGINE_FAILED';
    throw isBusy ? new DriverError({ cause: 'ENGINE_FAILED', message: failure.message, error, retryable: true }) : failure;
  }
}
