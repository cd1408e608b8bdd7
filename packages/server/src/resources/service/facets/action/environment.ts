import type { Queryable } from '@davit/db';
import type { RequestedService } from '@davit/engine/port';
import type { Needs } from '../../../../deps.ts';
import type { ReleaseSettings } from '../../release.ts';
import { currentReleases, releasable } from '../../composition.ts';
import { isBeingDeleted } from '../../lock.ts';
import type { ServiceFacts } from '../../rows.ts';
import { shareEnvironmentFacts } from '../../store.ts';
import { toRequestedService } from './request.ts';

/**
 * Returns the services of an environment for a deployment of all of them, in the order of deployment, each with its
 * current configuration. Leaves out skipped services and services that are being deleted. `redeploy` selects the
 * deployed commits instead of the newest ones. Locks the services, so that none is deleted before the request is
 * written; the caller must have locked the environment.
 */
export async function composeServices(
  deps: Needs<'engine' | 'vault', keyof ReleaseSettings>,
  tx: Queryable,
  environmentId: string,
  { redeploy }: { readonly redeploy: boolean },
): Promise<RequestedService[]> {
  const all = await tx.many(shareEnvironmentFacts, [environmentId]);
  const services = await staying(
    deps,
    tx,
    all.filter((facts) => !facts.is_skipped),
  );
  const releases = await currentReleases(deps, tx, environmentId, services);
  const ids = services.map((facts) => facts.id);
  const views = redeploy && ids.length > 0 ? await deps.engine.services(tx, ids) : [];
  const requested: RequestedService[] = [];
  for (const [index, facts] of services.entries()) {
    const release = releases[index];
    if (release === undefined) continue;
    const config = await releasable(deps, tx, facts, release);
    requested.push(toRequestedService(facts, { config, commitId: views[index]?.deployedCommit?.id ?? null }));
  }
  return requested;
}

async function staying(deps: Needs<'engine'>, tx: Queryable, services: readonly ServiceFacts[]): Promise<ServiceFacts[]> {
  const kept: ServiceFacts[] = [];
  for (const facts of services) if (!(await isBeingDeleted(deps, tx, facts))) kept.push(facts);
  return kept;
}
