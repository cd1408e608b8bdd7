import type { Queryable } from '@davit/db';
import type { Caller } from '../../../../auth/caller.ts';
import type { Deps } from '../../../../deps.ts';
import { notFound } from '../../../shared/problems.ts';
import {
  createAlias,
  createVariable,
  editVariable,
  listSecrets,
  listVariables,
  removeVariable,
  secretRecord,
  variableRecord,
  type AliasRequest,
  type Scene,
  type SecretRecord,
  type Stored,
  type VariableEditRequest,
  type VariablePlace,
  type VariableRecord,
  type VariableRequest,
} from '../../../variable/index.ts';
import { lockService, type ServiceReference } from '../../lock.ts';
import { serviceBuiltIns } from '../../release.ts';
import type { ServiceFacts } from '../../rows.ts';
import { readFacts } from '../../store.ts';

/** Variables and secrets of a service are the same operations twice: what tells them apart is the flag and the record. */
export interface VariableSort<Record> {
  readonly isSecret: boolean;
  readonly toRecord: (stored: Stored, place: VariablePlace) => Record;
}

export const variables: VariableSort<VariableRecord> = {
  isSecret: false,
  toRecord: ({ row, rows }, place) => variableRecord(row, place, rows),
};

export const secrets: VariableSort<SecretRecord> = {
  isSecret: true,
  toRecord: ({ row, rows }, place) => secretRecord(row, place, rows),
};

export async function listServiceVariables(
  deps: Deps,
  caller: Caller,
  reference: ServiceReference,
): Promise<{ results: VariableRecord[] }> {
  return { results: await listVariables(deps.database, await readPlace(deps, caller, reference)) };
}

export async function listServiceSecrets(
  deps: Deps,
  caller: Caller,
  reference: ServiceReference,
): Promise<{ results: SecretRecord[] }> {
  return { results: await listSecrets(deps.database, await readPlace(deps, caller, reference)) };
}

/** Changes what the next deployment runs, and nothing that runs now. KEY_TAKEN, VALIDATION_FAILED, BEING_DELETED. */
export function createServiceVariable<Record>(
  deps: Deps,
  caller: Caller,
  { reference, sort }: Target<Record>,
  request: VariableRequest,
): Promise<Record> {
  return change(deps, caller, { reference, sort }, (scene) => createVariable(scene, request));
}

export function createServiceAlias<Record>(
  deps: Deps,
  caller: Caller,
  { reference, sort, variableId }: TargetVariable<Record>,
  request: AliasRequest,
): Promise<Record> {
  return change(deps, caller, { reference, sort }, (scene) => createAlias(scene, variableId, request));
}

export function editServiceVariable<Record>(
  deps: Deps,
  caller: Caller,
  { reference, sort, variableId }: TargetVariable<Record>,
  request: VariableEditRequest,
): Promise<Record> {
  return change(deps, caller, { reference, sort }, (scene) => editVariable(scene, variableId, request));
}

export async function deleteServiceVariable<Record>(
  deps: Deps,
  caller: Caller,
  { reference, sort, variableId }: TargetVariable<Record>,
): Promise<undefined> {
  const place = await readPlace(deps, caller, reference);
  await removeVariable({ deps, tx: deps.database, place, isSecret: sort.isSecret }, variableId);
}

export interface Target<Record> {
  readonly reference: ServiceReference;
  readonly sort: VariableSort<Record>;
}

export interface TargetVariable<Record> extends Target<Record> {
  readonly variableId: string;
}

function change<Record>(
  deps: Deps,
  caller: Caller,
  { reference, sort }: Target<Record>,
  write: (scene: Scene) => Promise<Stored>,
): Promise<Record> {
  return deps.database.transaction(async (tx: Queryable) => {
    const place = toPlace(await lockService(deps, tx, caller, { ...reference, purpose: 'add' }), deps);
    return sort.toRecord(await write({ deps, tx, place, isSecret: sort.isSecret }), place);
  });
}

async function readPlace(deps: Deps, caller: Caller, { id, type }: ServiceReference): Promise<VariablePlace> {
  const facts = await deps.database.maybe(readFacts, [id, type, caller.organizationId]);
  if (facts === undefined) throw notFound('service');
  return toPlace(facts, deps);
}

function toPlace(facts: ServiceFacts, deps: Deps): VariablePlace {
  return {
    organizationId: facts.organization_id,
    projectId: facts.project_id,
    environmentId: facts.environment_id,
    serviceId: facts.id,
    serviceName: facts.name,
    serviceType: 'APPLICATION',
    builtIns: serviceBuiltIns(facts, deps.config),
  };
}
