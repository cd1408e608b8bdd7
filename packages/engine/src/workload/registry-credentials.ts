import { isAppError, Sensitive } from '@davit/base';
import { DriverError, type RegistryCredentials } from '@davit/drivers';
import type { EngineHooks } from '../port/hooks.ts';

/** An image and the container registry whose credentials are used for it. */
export interface RegistryUse {
  readonly registryId: string | null;
  /** Name of the service, for messages. */
  readonly serviceName: string;
  /** Full name of the image, with or without its tag or digest. */
  readonly reference: string;
}

/**
 * Returns the credentials for an image of a configured container registry; null if the registry needs none, or if the
 * image is of another host. A release keeps the name of its image when the URL of its registry changes, and the
 * credentials given for the new host must not go to the former one. Fails with REGISTRY_ACCESS_DENIED.
 */
export async function credentialsOf(
  hooks: Pick<EngineHooks, 'registryCredentials'>,
  { registryId, serviceName, reference }: RegistryUse,
  log?: (line: string) => void,
): Promise<RegistryCredentials | null> {
  if (registryId === null) return null;
  const found = await hooks.registryCredentials(registryId).catch((error: unknown) => {
    if (!isAppError(error) || error.code !== 'NOT_SUPPORTED') throw error;
    throw new DriverError({ cause: 'REGISTRY_ACCESS_DENIED', message: error.message, error });
  });
  if (found === undefined) {
    throw new DriverError({
      cause: 'REGISTRY_ACCESS_DENIED',
      message: `the container registry of ${serviceName} no longer exists`,
      hint: 'Set registry_id to an existing container registry, and deploy again.',
    });
  }
  if (found === null) return null;
  const host = reference.split('/', 1)[0] ?? '';
  if (!found.hosts.includes(host)) {
    log?.(
      `The image ${reference} is of ${host}, and the container registry of ${serviceName} is now at ${found.hosts.join(', ')}: its credentials are not sent to ${host}.`,
    );
    return null;
  }
  return { username: found.username, password: new Sensitive(found.password) };
}
