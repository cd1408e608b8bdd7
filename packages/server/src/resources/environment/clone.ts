import { randomUUID } from 'node:crypto';
import { isUuid } from '@davit/base';
import type { Body, operations } from '@davit/contract';
import { isForeignKeyViolation, type Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import { invalidReference } from '../shared/problems.ts';
import type { IdMap } from '../shared/relink.ts';
import { refuseTaken } from './environment.ts';
import { openEnvironment } from './open-environment.ts';
import * as store from './store.ts';

export type CloneRequest = Body<(typeof operations)['cloneEnvironment']>;

/** An environment and its copy. The copy has the same stages, which are still empty. */
export interface ClonedEnvironment {
  readonly organizationId: string;
  readonly from: { readonly environmentId: string; readonly projectId: string };
  readonly to: { readonly environmentId: string; readonly projectId: string; readonly driver: string };
  readonly stages: IdMap;
}

/** Translates database errors of `write` into errors that the caller can act on. */
export async function refuseClone<Result>(request: CloneRequest, write: () => Promise<Result>): Promise<Result> {
  try {
    return await refuseTaken(request.name, write);
  } catch (error) {
    // The project or the cluster was deleted at the same moment.
    if (isForeignKeyViolation(error)) throw notFound('project or cluster');
    throw error;
  }
}

/**
 * Copies the record, the stages and the deployment rule. Locks the environment, so that nothing in it changes until the
 * transaction ends. With `apply_deployment_rule`, the copy gets the matching rule of its project instead of the
 * environment's own rule.
 */
export async function cloneRecord(tx: Queryable, caller: Caller, id: string, request: CloneRequest): Promise<ClonedEnvironment> {
  const environment = await openEnvironment(tx, caller, id, 'order');
  const projectId = request.project_id?.toLowerCase() ?? environment.projectId;
  const clusterId = request.cluster_id?.toLowerCase() ?? environment.clusterId;
  const found = await tx.maybe(store.clusterForProject, [projectId, environment.organizationId, clusterId]);
  if (found === undefined) throw invalidReference('project_id', 'is not the id of a project of this organization');
  if (found.cluster_id === null) throw notFound('cluster');
  const environmentId = randomUUID();
  const { driver } = await tx.one(store.environmentCopy, [
    environmentId,
    id,
    projectId,
    clusterId,
    request.name,
    request.mode ?? null,
    // Automatic actions have no user.
    isUuid(caller.actor) ? caller.actor : null,
  ]);
  await tx.run(request.apply_deployment_rule === true ? store.projectRuleGive : store.environmentRuleCopy, [environmentId, id]);
  return {
    organizationId: environment.organizationId,
    from: { environmentId: id, projectId: environment.projectId },
    to: { environmentId, projectId, driver },
    stages: await cloneStages(tx, id, environmentId),
  };
}

async function cloneStages(tx: Queryable, from: string, to: string): Promise<IdMap> {
  const stages = await tx.many(store.environmentStages, [from]);
  const copies = new Map(stages.map((stage) => [stage.id, randomUUID()]));
  await tx.run(store.environmentStagesCopy, [to, [...copies.keys()], [...copies.values()]]);
  return copies;
}
