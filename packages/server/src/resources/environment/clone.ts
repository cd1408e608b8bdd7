import { randomUUID } from 'node:crypto';
import { isUuid } from '@davit/base';
import type { Body, operations } from '@davit/contract';
import { isForeignKeyViolation, type Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import { invalidReference } from '../shared/problems.ts';
import type { IdMap } from '../shared/relink.ts';
import { refuseTaken } from './environment.ts';
import { openEnvironment } from './place.ts';
import * as store from './store.ts';

export type CloneRequest = Body<(typeof operations)['cloneEnvironment']>;

/** An environment and its copy, which has the same stages and nothing in them yet. */
export interface ClonedEnvironment {
  readonly organizationId: string;
  readonly from: { readonly environmentId: string; readonly projectId: string };
  readonly to: { readonly environmentId: string; readonly projectId: string; readonly driver: string };
  readonly stages: IdMap;
}

/** Turns what a write of the copy is refused with into what the caller can do about it. */
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
 * Copies record, stages and deployment rule, and holds the environment so that nothing in it changes until the end of the
 * transaction. `apply_deployment_rule`: the copy gets the rule that its project has for it, instead of the environment's own.
 */
export async function cloneRecord(tx: Queryable, caller: Caller, id: string, request: CloneRequest): Promise<ClonedEnvironment> {
  const place = await openEnvironment(tx, caller, id, 'order');
  const projectId = request.project_id?.toLowerCase() ?? place.projectId;
  const clusterId = request.cluster_id?.toLowerCase() ?? place.clusterId;
  const found = await tx.maybe(store.clusterForProject, [projectId, place.organizationId, clusterId]);
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
    // What happens by itself is nobody's.
    isUuid(caller.actor) ? caller.actor : null,
  ]);
  await tx.run(request.apply_deployment_rule === true ? store.projectRuleGive : store.environmentRuleCopy, [environmentId, id]);
  return {
    organizationId: place.organizationId,
    from: { environmentId: id, projectId: place.projectId },
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
