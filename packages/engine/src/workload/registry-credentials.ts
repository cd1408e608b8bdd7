import { isAppError, Sensitive } from '@davit/base';
import { DriverError, type RegistryCredentials } from '@davit/drivers';
import type { EngineHooks } from '../port/hooks.ts';

/**
 * Returns the credentials for a configured container registry; null if it needs none. Fails with
 * REGISTRY_ACCESS_DENIED.
 */
export async function credentialsOf(
  hooks: Pick<EngineHooks, 'registryCredentials'>,
  { registryId, serviceName }: { readonly registryId: string | null; readonly serviceName: string },
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
  return found === null ? null : { username: found.username, password: new Sensitive(found.password) };
}
