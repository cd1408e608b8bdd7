import type { EngineConnection } from './connection.ts';
import { call } from './engine-api.ts';

/** The fields that Davit reads of the configuration of an image. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[] | null;
  readonly Cmd?: readonly string[] | null;
  readonly Labels?: Readonly<Record<string, string>> | null;
  readonly Volumes?: Readonly<Record<string, object>> | null;
  readonly Healthcheck?: { readonly Test?: readonly string[] | null } | null;
}

/**
 * Returns the configuration of an image, which is empty if the engine does not have the image: the start fails in that
 * case.
 */
export async function readImageConfig(docker: EngineConnection, image: string, signal: AbortSignal): Promise<ImageConfig> {
  const path = `/images/${encodeURIComponent(image)}/json`;
  const answer = await call<{ readonly Config?: ImageConfig | null }>(docker, {
    method: 'GET',
    path,
    signal,
    accept: [404, 500],
  });
  return (answer.status >= 300 ? null : answer.body.Config) ?? {};
}
