/** Ids of groups; a spec without any has no such member, which keeps it out of the indexes that find a group's services. */
export interface GroupsSpec {
  readonly annotations_groups?: readonly string[];
  readonly labels_groups?: readonly string[];
}

type Named = readonly { readonly id: string }[] | null;

export interface GroupsRequest {
  readonly annotations_groups?: Named;
  readonly labels_groups?: Named;
}

/** What is left out stays, null and an empty list take all away. Whether they exist is checked where they are written. */
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
