import type { operations, Response } from '@davit/contract';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import { derivedId } from '../../../shared/derived-id.ts';
import { assertVisible } from '../history/history.ts';

type Resources = Response<(typeof operations)['getTerraformResources']>;

/**
 * Returns the resources of the latest apply, in the order of the Terraform state; none before the first apply. Fails
 * with NOT_FOUND.
 */
export async function listTerraformResources(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  serviceId: string,
): Promise<Resources> {
  await assertVisible(deps, caller, serviceId, 'TERRAFORM');
  const found = await deps.engine.terraformResources(deps.database, serviceId);
  if (found === null) return { results: [] };
  return {
    results: found.resources.map(({ address, type, name, provider, mode, attributes }) => ({
      id: derivedId(serviceId.toLowerCase(), mode, address),
      resource_type: type,
      name,
      address,
      provider,
      mode,
      attributes,
      extracted_at: found.extractedAt,
    })),
  };
}
