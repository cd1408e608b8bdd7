import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import { isForeignKeyViolation, type Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { openEnvironment } from '../environment/index.ts';
import { refuseTakenName } from '../shared/naming.ts';
import * as store from './store.ts';

export type DeploymentStage = Response<(typeof operations)['getDeploymentStage']>;
type DeploymentStages = Response<(typeof operations)['listEnvironmentDeploymentStage']>;
type StageRequest = Body<(typeof operations)['createEnvironmentDeploymentStage']>;
type AttachRequest = Body<(typeof operations)['attachServiceToDeploymentStage']>;

export async function listStages(deps: Needs<'database'>, caller: Caller, environmentId: string): Promise<DeploymentStages> {
  const stages = await stagesOf(deps.database, caller, environmentId);
  // Every environment has at least one stage. An empty list means that the environment does not exist.
  if (stages.results.length === 0) throw notFound('environment');
  return stages;
}

export async function readStage(deps: Needs<'database'>, caller: Caller, id: string): Promise<DeploymentStage> {
  return toStage(await stageRow(deps.database, caller, id));
}

export async function readStageOfService(deps: Needs<'database'>, caller: Caller, serviceId: string): Promise<DeploymentStage> {
  const row = await deps.database.maybe(store.stageOfService, [serviceId, caller.organizationId]);
  if (row === undefined) throw notFound('service');
  return toStage(row);
}

export function createStage(
  deps: Needs<'database'>,
  caller: Caller,
  environmentId: string,
  request: StageRequest,
): Promise<DeploymentStage> {
  return refuseTaken(request.name, () =>
    deps.database.transaction(async (tx) => {
      const { organizationId } = await openEnvironment(tx, caller, environmentId, 'order');
      const id = randomUUID();
      await tx.run(store.stageCreate, [id, organizationId, environmentId, request.name, request.description ?? '']);
      return toStage(await stageRow(tx, caller, id));
    }),
  );
}

export function editStage(deps: Needs<'database'>, caller: Caller, id: string, request: StageRequest): Promise<DeploymentStage> {
  return refuseTaken(request.name, () =>
    deps.database.transaction(async (tx) => {
      const { environment_id } = await stageRow(tx, caller, id);
      await openEnvironment(tx, caller, environment_id, 'change');
      const values = [id, caller.organizationId, request.name, request.description ?? '', request.description !== undefined];
      if ((await tx.run(store.stageEdit, values)) === 0) throw notFound('deployment stage');
      return toStage(await stageRow(tx, caller, id));
    }),
  );
}

/**
 * Deletes a stage. Fails with STAGE_NOT_EMPTY while the stage has services. Also fails for the last stage, because the
 * services of the environment need one.
 */
export async function deleteStage(deps: Needs<'database'>, caller: Caller, id: string): Promise<void> {
  try {
    await deps.database.transaction(async (tx) => {
      const { environment_id, services } = await stageRow(tx, caller, id);
      await openEnvironment(tx, caller, environment_id, 'order');
      if (services.length > 0) throw notEmpty();
      if ((await tx.one(store.stageCount, [environment_id])).count === 1) {
        throw new AppError({
          code: 'STAGE_NOT_EMPTY',
          message: 'An environment needs at least one stage: this is its last one.',
        });
      }
      if ((await tx.run(store.stageDelete, [id])) === 0) throw notFound('deployment stage');
      await tx.run(store.stageRenumber, [environment_id, null, null, null]);
    });
  } catch (error) {
    // A service was put into the stage at the same moment.
    if (isForeignKeyViolation(error)) throw notEmpty();
    throw error;
  }
}

// Clients search the message for "must empty of service" and retry in that case.
function notEmpty(): AppError {
  return new AppError({
    code: 'STAGE_NOT_EMPTY',
    message: 'The stage must empty of service before it is deleted: move its services to another stage first.',
  });
}

/** The new position of a stage. */
export interface Move {
  readonly id: string;
  readonly side: 'before' | 'after';
  readonly otherId: string;
}

export function moveStage(deps: Needs<'database'>, caller: Caller, { id, side, otherId }: Move): Promise<DeploymentStages> {
  return deps.database.transaction(async (tx) => {
    const { environment_id } = await stageRow(tx, caller, id);
    await openEnvironment(tx, caller, environment_id, 'order');
    const other = await stageRow(tx, caller, otherId);
    if (other.environment_id !== environment_id) throw notFound('deployment stage in this environment');
    if (id.toLowerCase() !== otherId.toLowerCase()) {
      await tx.run(store.stageRenumber, [environment_id, id, otherId, side === 'before' ? -0.5 : 0.5]);
    }
    return stagesOf(tx, caller, environment_id);
  });
}

/**
 * Moves a service to a stage. If the request omits `is_skipped`, the service is deployed with the environment again.
 */
export async function attachService(
  deps: Needs<'database'>,
  caller: Caller,
  ids: { readonly deploymentStageId: string; readonly serviceId: string },
  request: AttachRequest,
): Promise<DeploymentStages> {
  try {
    return await deps.database.transaction(async (tx) => {
      const { environment_id } = await stageRow(tx, caller, ids.deploymentStageId);
      await openEnvironment(tx, caller, environment_id, 'change');
      const values = [ids.serviceId, ids.deploymentStageId, environment_id, request?.is_skipped ?? false];
      if ((await tx.run(store.serviceAttach, values)) === 0) throw notFound('service in the environment of this stage');
      return stagesOf(tx, caller, environment_id);
    });
  } catch (error) {
    // The stage was deleted at the same moment.
    if (isForeignKeyViolation(error)) throw notFound('deployment stage');
    throw error;
  }
}

async function stageRow(db: Queryable, caller: Caller, id: string): Promise<store.StageRow> {
  const row = await db.maybe(store.stageRead, [id, caller.organizationId]);
  if (row === undefined) throw notFound('deployment stage');
  return row;
}

async function stagesOf(db: Queryable, caller: Caller, environmentId: string): Promise<DeploymentStages> {
  return { results: (await db.many(store.stageList, [environmentId, caller.organizationId])).map(toStage) };
}

function refuseTaken<Result>(name: string, write: () => Promise<Result>): Promise<Result> {
  return refuseTakenName({ index: 'deployment_stage_name', noun: 'stage', name, where: 'in this environment' }, write);
}

function toStage({ environment_id, position, ...row }: store.StageRow): DeploymentStage {
  return { ...row, environment: { id: environment_id }, deployment_order: position };
}
