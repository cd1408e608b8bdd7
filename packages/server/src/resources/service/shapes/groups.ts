/**
 * Ids of groups. A spec without groups lacks these members, so that the indexes that find a group's services do not
 * contain the spec.
 */
export interface GroupsSpec {
  readonly annotations_groups?: readonly string[];
  readonly labels_groups?: readonly string[];
}

type Named = readonly { readonly id: string }[] | null;

export interface GroupsRequest {
  readonly annotations_groups?: Named;
  readonly labels_groups?: Named;
}

/**
 * Returns the groups after a request. Omitted members stay; null and an empty list remove all groups. `shareGroups`
 * checks that the groups exist.
 */
export function toGroups(request: GroupsRequest, former: GroupsSpec): GroupsSpec {
  return {
    ...member('annotations_groups', request, former),
    ...member('labels_groups', request, former),
  };
}

function member(name: keyof GroupsSpec, request: GroupsRequest, former: GroupsSpec): GroupsSpec {
  const named = request[name];
  const ids = named === undefined ? former[name] : [...new Set((named ?? []).map(({ id }) => id.toLowerCase()))];
  return ids === undefined || ids.length === 0 ? {} : { [name]: ids };
}
