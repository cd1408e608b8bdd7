import type { Queryable } from '@davit/db';
import { readAnnotationGroups, shareAnnotationGroups, type AnnotationGroup } from '../annotation-group/index.ts';
import { readLabelGroups, shareLabelGroups, type LabelGroup } from '../label-group/index.ts';
import { invalidReference } from '../shared/problems.ts';
import type { GroupsRequest, GroupsSpec } from './shapes/groups.ts';

/** Groups of annotations and labels by their ids. */
export interface Groups {
  readonly annotations: ReadonlyMap<string, AnnotationGroup>;
  readonly labels: ReadonlyMap<string, LabelGroup>;
}

export const noGroups: Groups = { annotations: new Map(), labels: new Map() };

/** Returns the groups that the specs reference. Runs no query if they reference none, which is the usual case. */
export async function readGroups(db: Queryable, specs: readonly GroupsSpec[]): Promise<Groups> {
  const annotations = specs.flatMap(({ annotations_groups = [] }) => annotations_groups);
  const labels = specs.flatMap(({ labels_groups = [] }) => labels_groups);
  if (annotations.length === 0 && labels.length === 0) return noGroups;
  return {
    annotations: byId(annotations.length === 0 ? [] : await readAnnotationGroups(db, annotations)),
    labels: byId(labels.length === 0 ? [] : await readLabelGroups(db, labels)),
  };
}

/**
 * Locks the groups that the request names until the transaction ends, which must write the reference. Fails with
 * INVALID_REFERENCE for a group that the organization does not have.
 */
export async function shareGroups(tx: Queryable, organizationId: string, request: GroupsRequest): Promise<void> {
  for (const path of ['annotations_groups', 'labels_groups'] as const) {
    const ids = (request[path] ?? []).map(({ id }) => id.toLowerCase());
    if (ids.length === 0) continue;
    const share = path === 'annotations_groups' ? shareAnnotationGroups : shareLabelGroups;
    const found = await share(tx, organizationId, ids);
    const unknown = ids.findIndex((id) => !found.has(id));
    if (unknown === -1) continue;
    const noun = path === 'annotations_groups' ? 'an annotation group' : 'a label group';
    throw invalidReference(`${path}.${unknown}.id`, `is not the id of ${noun} of this organization; create one first`);
  }
}

/** Returns the groups for a service's record, in the order in which the spec names them. */
export function toGroupRecords(
  spec: GroupsSpec,
  groups: Groups = noGroups,
): { annotations_groups: AnnotationGroup[]; labels_groups: LabelGroup[] } {
  return {
    annotations_groups: picked(spec.annotations_groups, groups.annotations),
    labels_groups: picked(spec.labels_groups, groups.labels),
  };
}

function picked<Group>(ids: readonly string[] | undefined, groups: ReadonlyMap<string, Group>): Group[] {
  if (ids === undefined) return [];
  return ids.flatMap((id) => groups.get(id) ?? []);
}

function byId<Group extends { readonly id: string }>(groups: readonly Group[]): ReadonlyMap<string, Group> {
  return new Map(groups.map((group) => [group.id, group]));
}
