import { randomUUID } from 'node:crypto';
import { groupItemTypes, type Body, type operations, type Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { recordsOf } from '../organization/index.ts';
import { readUses, refuseUsed, toAssociatedItem } from '../service-use/index.ts';
import { refuseTakenName } from '../shared/naming.ts';
import { Problems } from '../shared/problems.ts';
import { checkKeys } from '../shared/qualified-name.ts';
import * as store from './store.ts';

export type AnnotationGroup = Response<(typeof operations)['getOrganizationAnnotationsGroup']>;
type AnnotationGroups = Response<(typeof operations)['listOrganizationAnnotationsGroup']>;
type Items = Response<(typeof operations)['getOrganizationAnnotationsGroupAssociatedItems']>;
type Request = Body<(typeof operations)['createOrganizationAnnotationsGroup']>;

/** The id of a record and the organization that it belongs to. */
export interface AnnotationGroupIds {
  readonly organizationId: string;
  readonly annotationsGroupId: string;
}

export async function listAnnotationGroups(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
): Promise<AnnotationGroups> {
  return { results: await recordsOf(deps, caller, organizationId, store.annotationGroupList) };
}

export async function createAnnotationGroup(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  request: Request,
): Promise<AnnotationGroup> {
  const parent = [organizationId, caller.organizationId, randomUUID()];
  const row = await refuseTaken(request.name, () =>
    deps.database.maybe(store.annotationGroupCreate, [...parent, ...fields(request)]),
  );
  if (row === undefined) throw notFound('organization');
  return row;
}

export async function readAnnotationGroup(
  deps: Needs<'database'>,
  caller: Caller,
  ids: AnnotationGroupIds,
): Promise<AnnotationGroup> {
  const row = await deps.database.maybe(store.annotationGroupRead, pathValues(caller, ids));
  if (row === undefined) throw notFound('annotation group');
  return row;
}

export async function editAnnotationGroup(
  deps: Needs<'database'>,
  caller: Caller,
  ids: AnnotationGroupIds,
  request: Request,
): Promise<AnnotationGroup> {
  const row = await refuseTaken(request.name, () =>
    deps.database.maybe(store.annotationGroupEdit, [...pathValues(caller, ids), ...fields(request)]),
  );
  if (row === undefined) throw notFound('annotation group');
  return row;
}

/** Fails with NOT_FOUND, or with IN_USE while a service uses the group. */
export async function deleteAnnotationGroup(deps: Needs<'database'>, caller: Caller, ids: AnnotationGroupIds): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const row = await tx.maybe(store.annotationGroupLock, pathValues(caller, ids));
    if (row === undefined) throw notFound('annotation group');
    await refuseUsed(tx, 'annotationGroup', { id: row.id, noun: 'annotation group' });
    await tx.run(store.annotationGroupDelete, [row.id]);
  });
}

export async function listAnnotationGroupItems(deps: Needs<'database'>, caller: Caller, ids: AnnotationGroupIds): Promise<Items> {
  const { id } = await readAnnotationGroup(deps, caller, ids);
  const uses = await readUses(deps.database, 'annotationGroup', id);
  return { results: uses.map((use) => toAssociatedItem(use, groupItemTypes)) };
}

/** Returns the annotation groups with these ids, in no particular order. Ids without a group are left out. */
export function readAnnotationGroups(db: Queryable, ids: readonly string[]): Promise<AnnotationGroup[]> {
  return db.many(store.annotationGroupsRead, [[...ids]]);
}

/**
 * Returns which of these ids belong to the organization. None of these groups can be deleted before the transaction
 * ends.
 */
export async function shareAnnotationGroups(tx: Queryable, organizationId: string, ids: readonly string[]): Promise<Set<string>> {
  return new Set((await tx.many(store.annotationGroupsShare, [organizationId, [...ids]])).map(({ id }) => id));
}

// Kubernetes accepts 256 KiB of annotations for an object. The rest is for those of Davit: name and ports of a service.
const mostBytes = 256 * 1024 - 8 * 1024;

/** Adds to `problems` what a cluster would refuse. */
export function checkAnnotations(annotations: Request['annotations'], problems: Problems): void {
  checkKeys('annotations', annotations, problems);
  const bytes = annotations.reduce((sum, { key, value }) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  if (bytes > mostBytes) problems.add('annotations', `must have at most ${mostBytes} bytes with their keys; they have ${bytes}`);
}

function fields({ name, annotations, scopes }: Request): unknown[] {
  const problems = new Problems();
  checkAnnotations(annotations, problems);
  problems.throwIfAny();
  const plain = annotations.map(({ key, value }) => ({ key, value }));
  return [name, JSON.stringify(plain), [...new Set(scopes)]];
}

function pathValues(caller: Caller, ids: AnnotationGroupIds): unknown[] {
  return [ids.organizationId, caller.organizationId, ids.annotationsGroupId];
}

function refuseTaken<Result>(name: string, write: () => Promise<Result>): Promise<Result> {
  const taken = { index: 'annotation_group_name', noun: 'annotation group', name, where: 'in this organization' };
  return refuseTakenName(taken, write);
}
