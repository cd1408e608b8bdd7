import type { Queryable } from '@davit/db';
import type { DeploymentRequest, ReleaseConfig, RequestedService, TerraformAction } from '@davit/engine/port';
import type { Deps } from '../../../../deps.ts';
import { currentRelease } from '../../composition.ts';
import type { ServiceFacts } from '../../rows.ts';

/** How a service is taken away. */
export interface Removal {
  /** What a Terraform configuration made stays in the world; only its state is forgotten. */
  readonly skipDestroy?: boolean;
  /** The record stays. */
  readonly resourcesOnly?: boolean;
}

/** The same request for another thing than an apply. */
export function forTerraform(request: DeploymentRequest, action: TerraformAction | undefined): DeploymentRequest {
  if (action === undefined) return request;
  return apart({
    ...request,
    services: request.services.map((service) =>
      service.release !== undefined && 'config' in service.release
        ? { ...service, release: { ...service.release, config: runFor(service.release.config, action) } }
        : service,
    ),
  });
}

/**
 * A request for another thing than an apply is not merged into one that waits: its place in the queue would be taken by what is
 * asked for last, and an apply that somebody waits for would become a plan.
 */
export function apart(request: DeploymentRequest): DeploymentRequest {
  const actions = request.services.flatMap(({ release }) => {
    const source = release !== undefined && 'config' in release ? release.config.source : undefined;
    return source?.type === 'TERRAFORM' && source.action !== 'APPLY' ? [source.action] : [];
  });
  if (actions.length === 0) return request;
  const actor = [request.trigger.actor, ...new Set(actions)].join(' ');
  return { ...request, trigger: { ...request.trigger, actor } };
}

/** What a removal has to know of a Terraform configuration, which is more than what is deployed; nothing for other types. */
export async function takenAway(
  deps: Deps,
  tx: Queryable,
  facts: ServiceFacts,
  { skipDestroy = false }: Removal,
): Promise<RequestedService['release']> {
  if (facts.type !== 'TERRAFORM') return undefined;
  const { config } = await currentRelease(deps, tx, facts);
  return { config: runFor(config, skipDestroy ? 'FORGET' : 'DESTROY'), commitId: null };
}

/** What is deployed of a Terraform configuration for something; other types are deployed for nothing else. */
export function runFor(config: ReleaseConfig, action: TerraformAction | undefined): ReleaseConfig {
  return action !== undefined && config.source.type === 'TERRAFORM'
    ? { ...config, source: { ...config.source, action } }
    : config;
}
