import { randomUUID } from 'node:crypto';
import type { Body, operations, Response } from '@davit/contract';
import { isForeignKeyViolation } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { readOrganization, recordsOf } from '../organization/index.ts';
import { inUse, nameTaken, refuseTakenName } from '../shared/naming.ts';
import * as store from './store.ts';

export type Project = Response<(typeof operations)['getProject']>;
type Projects = Response<(typeof operations)['listProject']>;
type CreateRequest = Body<(typeof operations)['createProject']>;
type EditRequest = Body<(typeof operations)['editProject']>;

export async function listProjects(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<Projects> {
  return { results: (await recordsOf(deps, caller, organizationId, store.projectList)).map(toProject) };
}

export async function createProject(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  request: CreateRequest,
): Promise<Project> {
  const values = [randomUUID(), organizationId, caller.organizationId, request.name, request.description ?? ''];
  const row = await deps.database.batched(store.projectCreate, values);
  if (row !== undefined) return toProject(row);
  await readOrganization(deps, caller, organizationId);
  throw nameTaken({ noun: 'project', name: request.name, where });
}

export async function readProject(deps: Needs<'database'>, caller: Caller, id: string): Promise<Project> {
  const row = await deps.database.batched(store.projectRead, [id, caller.organizationId]);
  if (row === undefined) throw notFound('project');
  return toProject(row);
}

export async function editProject(deps: Needs<'database'>, caller: Caller, id: string, request: EditRequest): Promise<Project> {
  const row = await refuseTaken(request.name, () =>
    deps.database.maybe(store.projectEdit, [id, caller.organizationId, JSON.stringify(request)]),
  );
  if (row === undefined) throw notFound('project');
  return toProject(row);
}

export async function deleteProject(deps: Needs<'database'>, caller: Caller, id: string): Promise<void> {
  try {
    const count = await deps.database.run(store.projectDelete, [id, caller.organizationId]);
    if (count === 0) throw notFound('project');
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error;
    const names = (await deps.database.many(store.environmentNames, [id])).map(({ name }) => name);
    throw inUse('The project', { noun: 'the environments', names });
  }
}

const where = 'in this organization';

function refuseTaken<Result>(name: string | undefined, write: () => Promise<Result>): Promise<Result> {
  return refuseTakenName({ index: 'project_name', noun: 'project', name, where }, write);
}

function toProject({ organization_id, ...row }: store.ProjectRow): Project {
  return { ...row, organization: { id: organization_id } };
}
