import type { Queryable } from '@davit/db';
import type { DeploymentRequest, ReleaseConfig, RequestedService, TerraformAction } from '@davit/engine/port';
import type { Needs } from '../../../../deps.ts';
import type { ReleaseSettings } from '../../release.ts';
import { currentRelease } from '../../composition.ts';
import type { ServiceFacts } from '../../rows.ts';

/** Options for the removal of a service. */
export interface Removal {
  /** Keeps the resources that a Terraform configuration created; only its state is deleted. */
  readonly skipDestroy?: boolean;
  /** Keeps the record of the service. */
  readonly resourcesOnly?: boolean;
}

/** Returns the request with `action` instead of an apply. */
export function forTerraform(request: DeploymentRequest, action: TerraformAction | undefined): DeploymentRequest {
  if (action === undefined) return request;
  return withMergeKey({
    ...request,
    services: request.services.map((service) =>
      service.release !== undefined && 'config' in service.release
        ? { ...service, release: { ...service.release, config: runFor(service.release.config, action) } }
        : service,
    ),
  });
}

/**
 * Returns the request with a merge key if it is not an apply. A merged request takes the action of the newest one:
 * without the key, an apply that a user waits for would become a plan.
 */
export function withMergeKey(request: DeploymentRequest): DeploymentRequest {
  const actions = request.services.flatMap(({ release }) => {
    const source = release !== undefined && 'config' in release ? release.config.source : undefined;
    return source?.type === 'TERRAFORM' && source.action !== 'APPLY' ? [source.action] : [];
  });
  if (actions.length === 0) return request;
  return { ...request, mergeKey: [...new Set(actions)].join(' ') };
}

/**
 * Returns the release that a removal of a Terraform configuration needs, as it needs more than the deployed release.
 * Returns undefined for other types.
 */
export async function removalRelease(
  deps: Needs<never, keyof ReleaseSettings>,
  tx: Queryable,
  facts: ServiceFacts,
  { skipDestroy = false }: Removal,
): Promise<RequestedService['release']> {
  if (facts.type !== 'TERRAFORM') return undefined;
  const { config } = await currentRelease(deps, tx, facts);
  return { config: runFor(config, skipDestroy ? 'FORGET' : 'DESTROY'), commitId: null };
}

/** Returns the configuration with `action`, for Terraform configurations; other types have no such action. */
export function runFor(config: ReleaseConfig, action: TerraformAction | undefined): ReleaseConfig {
  return action !== undefined && config.source.type === 'TERRAFORM'
    ? { ...config, source: { ...config.source, action } }
    : config;
}
