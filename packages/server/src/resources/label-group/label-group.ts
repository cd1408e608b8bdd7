import { randomUUID } from 'node:crypto';
import { groupItemTypes, type Body, type operations, type Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { recordsOf } from '../organization/index.ts';
import { readUses, refuseUsed, toAssociatedItem } from '../service-use/index.ts';
import { inUse, refuseTakenName } from '../shared/naming.ts';
import { Problems } from '../shared/problems.ts';
import { checkKeys, checkLabelValues } from '../shared/qualified-name.ts';
import * as store from './store.ts';

export type LabelGroup = Response<(typeof operations)['getOrganizationLabelssGroup']>;
type LabelGroups = Response<(typeof operations)['listOrganizationLabelsGroup']>;
type Items = Response<(typeof operations)['getOrganizationLabelsGroupAssociatedItems']>;
type Request = Body<(typeof operations)['createOrganizationLabelsGroup']>;

/** The id of a record and the organization that it belongs to. */
export interface LabelGroupIds {
  readonly organizationId: string;
  readonly labelsGroupId: string;
}

export async function listLabelGroups(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<LabelGroups> {
  return { results: await recordsOf(deps, caller, organizationId, store.labelGroupList) };
}

export async function createLabelGroup(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  request: Request,
): Promise<LabelGroup> {
  const parent = [organizationId, caller.organizationId, randomUUID()];
  const row = await refuseTaken(request.name, () => deps.database.maybe(store.labelGroupCreate, [...parent, ...fields(request)]));
  if (row === undefined) throw notFound('organization');
  return row;
}

export async function readLabelGroup(deps: Needs<'database'>, caller: Caller, ids: LabelGroupIds): Promise<LabelGroup> {
  const row = await deps.database.maybe(store.labelGroupRead, pathValues(caller, ids));
  if (row === undefined) throw notFound('label group');
  return row;
}

export async function editLabelGroup(
  deps: Needs<'database'>,
  caller: Caller,
  ids: LabelGroupIds,
  request: Request,
): Promise<LabelGroup> {
  const row = await refuseTaken(request.name, () =>
    deps.database.maybe(store.labelGroupEdit, [...pathValues(caller, ids), ...fields(request)]),
  );
  if (row === undefined) throw notFound('label group');
  return row;
}

/** Fails with NOT_FOUND, or with IN_USE while a service or a cluster uses the group. */
export async function deleteLabelGroup(deps: Needs<'database'>, caller: Caller, ids: LabelGroupIds): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const row = await tx.maybe(store.labelGroupLock, pathValues(caller, ids));
    if (row === undefined) throw notFound('label group');
    await refuseUsed(tx, 'labelGroup', { id: row.id, noun: 'label group' });
    const names = (await tx.many(store.labelGroupClusters, [row.id])).map(({ name }) => name);
    if (names.length > 0) throw inUse('The label group', { noun: 'the clusters', names });
    await tx.run(store.labelGroupDelete, [row.id]);
  });
}

export async function listLabelGroupItems(deps: Needs<'database'>, caller: Caller, ids: LabelGroupIds): Promise<Items> {
  const { id } = await readLabelGroup(deps, caller, ids);
  const uses = await readUses(deps.database, 'labelGroup', id);
  const clusters = await deps.database.many(store.labelGroupClusters, [id]);
  return {
    results: [...uses.map((use) => toAssociatedItem(use, groupItemTypes)), ...clusters.map((cluster) => toClusterItem(cluster))],
  };
}

function toClusterItem({ id, name }: { readonly id: string; readonly name: string }): Items['results'][number] {
  return { cluster_id: id, cluster_name: name, item_id: id, item_name: name, item_type: 'CLUSTER' };
}

/** Returns the label groups with these ids, in no particular order. Ids without a group are left out. */
export function readLabelGroups(db: Queryable, ids: readonly string[]): Promise<LabelGroup[]> {
  return db.many(store.labelGroupsRead, [[...ids]]);
}

/**
 * Returns which of these ids belong to the organization. None of these groups can be deleted before the transaction
 * ends.
 */
export async function shareLabelGroups(tx: Queryable, organizationId: string, ids: readonly string[]): Promise<Set<string>> {
  return new Set((await tx.many(store.labelGroupsShare, [organizationId, [...ids]])).map(({ id }) => id));
}

function fields({ name, labels }: Request): unknown[] {
  const problems = new Problems();
  checkKeys('labels', labels, problems);
  checkLabelValues('labels', labels, problems);
  problems.throwIfAny();
  const plain = labels.map(({ key, value, propagate_to_cloud_provider }) => ({ key, value, propagate_to_cloud_provider }));
  return [name, JSON.stringify(plain)];
}

function pathValues(caller: Caller, ids: LabelGroupIds): unknown[] {
  return [ids.organizationId, caller.organizationId, ids.labelsGroupId];
}

function refuseTaken<Result>(name: string, write: () => Promise<Result>): Promise<Result> {
  const taken = { index: 'label_group_name', noun: 'label group', name, where: 'in this organization' };
  return refuseTakenName(taken, write);
}
