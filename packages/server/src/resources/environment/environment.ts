import { randomUUID } from 'node:crypto';
import type { Body, operations, Response } from '@davit/contract';
import { isForeignKeyViolation, type Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import { checkEnvironment } from '../../auth/custom-role.ts';
import type { Needs } from '../../deps.ts';
import { readProject } from '../project/index.ts';
import { refuseTakenName } from '../shared/naming.ts';
import { invalid } from '../shared/problems.ts';
import { moveEnvironment } from './move.ts';
import { openEnvironment } from './open-environment.ts';
import * as store from './store.ts';

export type Environment = Response<(typeof operations)['getEnvironment']>;
type Environments = Response<(typeof operations)['listEnvironment']>;
type CreateRequest = Body<(typeof operations)['createEnvironment']>;
type EditRequest = Body<(typeof operations)['editEnvironment']>;

/** The stages of a new environment, in their order. */
const defaultStages = ['DATABASE DEFAULT', 'JOB DEFAULT', 'CONTAINER DEFAULT', 'APPLICATION DEFAULT'] as const;

export async function listEnvironments(deps: Needs<'database'>, caller: Caller, projectId: string): Promise<Environments> {
  const rows = await deps.database.many(store.environmentList, [projectId, caller.organizationId]);
  // An empty list does not show whether the project exists.
  if (rows.length === 0) await readProject(deps, caller, projectId);
  return { results: rows.map(toEnvironment) };
}

export async function createEnvironment(
  deps: Needs<'database'>,
  caller: Caller,
  projectId: string,
  request: CreateRequest,
): Promise<Environment> {
  const wanted = wantedCluster(request);
  const found = await deps.database.maybe(store.clusterForProject, [projectId, caller.organizationId, wanted]);
  if (found === undefined) throw notFound('project');
  if (found.cluster_id === null) throw notFound('cluster');
  const mode = request.mode ?? 'DEVELOPMENT';
  checkEnvironment(caller, { projectId, mode, onNewCluster: found.cluster_id });
  const values = [
    randomUUID(),
    projectId,
    found.cluster_id,
    request.name,
    mode,
    request.auto_preview ?? false,
    caller.actor,
    [...defaultStages],
  ];
  try {
    const row = await refuseTaken(request.name, () => deps.database.maybe(store.environmentCreate, values));
    if (row !== undefined) return toEnvironment(row);
  } catch (error) {
    // The project was deleted at the same moment.
    if (!isForeignKeyViolation(error)) throw error;
  }
  throw notFound('project');
}

function wantedCluster({ cluster, cluster_id }: CreateRequest): string | null {
  const id = cluster_id ?? cluster ?? null;
  if (cluster !== undefined && cluster !== null && cluster.toLowerCase() !== id?.toLowerCase()) {
    throw invalid('cluster', 'must be the same as cluster_id, of which it is another name; leave one of them out');
  }
  return id;
}

export async function readEnvironment(deps: Needs<'database'>, caller: Caller, id: string): Promise<Environment> {
  const row = await deps.database.maybe(store.environmentRead, [id, caller.organizationId]);
  if (row === undefined) throw notFound('environment');
  return toEnvironment(row);
}

export async function editEnvironment(
  deps: Needs<'database'>,
  caller: Caller,
  id: string,
  request: EditRequest,
): Promise<Environment> {
  const row = await refuseTaken(request.name, () =>
    deps.database.transaction(async (tx) => {
      // This needs the exclusive lock. With shared locks, two transactions would deadlock in their writes.
      const { projectId, organizationId } = await openEnvironment(tx, caller, id, 'order');
      if (request.mode !== undefined) checkEnvironment(caller, { projectId, mode: request.mode });
      const { cluster_id: clusterId } = request;
      if (clusterId !== undefined) await moveEnvironment(tx, caller, { environmentId: id, projectId, organizationId, clusterId });
      return tx.maybe(store.environmentEdit, [id, JSON.stringify(request), caller.actor]);
    }),
  );
  if (row === undefined) throw notFound('environment');
  return toEnvironment(row);
}

/**
 * Marks the environment, so that nothing can be added to it any more. Must run in the transaction that requests the
 * removal from the engine.
 */
export async function markDeleting(tx: Queryable, id: string): Promise<void> {
  await tx.run(store.environmentMark, [id, true]);
}

/**
 * Deletes the record and everything below it. Idempotent. The containers of the environment must not exist any more.
 */
export async function removeEnvironment(tx: Queryable, id: string): Promise<void> {
  await tx.run(store.environmentServicesRemove, [id]);
  await tx.run(store.environmentRemove, [id]);
}

/** Fails with NAME_TAKEN if the write violates the uniqueness of names. */
export function refuseTaken<Result>(name: string | undefined, write: () => Promise<Result>): Promise<Result> {
  return refuseTakenName({ index: 'environment_name', noun: 'environment', name, where: 'in this project' }, write);
}

function toEnvironment(row: store.EnvironmentRow): Environment {
  const { organization_id, project_id, last_updated_by, cloud_provider_name, ...fields } = row;
  return {
    ...fields,
    organization: { id: organization_id },
    project: { id: project_id },
    cloud_provider: { provider: cloud_provider_name, cluster: row.cluster_name },
    ...(last_updated_by === null ? {} : { last_updated_by }),
  };
}
