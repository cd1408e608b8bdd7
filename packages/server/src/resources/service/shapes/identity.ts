import { randomUUID } from 'node:crypto';
import type { Problems } from '../../shared/problems.ts';

interface Identified {
  readonly id: string;
}

export interface ListOfParts<Request extends { readonly id?: string | null }, Part extends Identified> {
  /** Name of the list in the paths of problems, such as `ports`. */
  readonly path: string;
  /** Noun for messages, such as `port`. */
  readonly noun: string;
  readonly requested: readonly Request[];
  readonly former: readonly Part[];
  readonly requestedKey: (request: Request) => string;
  readonly formerKey: (part: Part) => string;
}

/**
 * Returns the former part of each entry of a new list. Entries match by id, or else by key; a new entry gets a new id.
 * Parts keep their ids through edits that do not send the ids: the id of a storage names its volume, so a new id would
 * lose the data.
 */
export function identities<Request extends { readonly id?: string | null }, Part extends Identified>(
  list: ListOfParts<Request, Part>,
  problems: Problems,
): readonly { readonly id: string; readonly former: Part | undefined }[] {
  const byId = new Map(list.former.map((part) => [part.id, part]));
  const named = new Set<string>();
  list.requested.forEach(({ id }, index) => {
    if (id === null || id === undefined) return;
    const path = `${list.path}.${index}.id`;
    if (!byId.has(id)) problems.add(path, `is not the id of a ${list.noun} of this service; leave it out for a new ${list.noun}`);
    else if (named.has(id)) problems.add(path, `names the same ${list.noun} as another entry`);
    named.add(id);
  });
  const byKey = new Map(list.former.filter((part) => !named.has(part.id)).map((part) => [list.formerKey(part), part]));
  return list.requested.map((request) => {
    if (request.id !== null && request.id !== undefined) return { id: request.id, former: byId.get(request.id) };
    const key = list.requestedKey(request);
    const former = byKey.get(key);
    byKey.delete(key);
    return { id: former?.id ?? randomUUID(), former };
  });
}

/** Reports every entry with the key of an earlier entry. */
export function refuseDuplicates(keys: readonly string[], problemAt: (index: number, firstIndex: number) => void): void {
  const first = new Map<string, number>();
  keys.forEach((key, index) => {
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, index);
    else problemAt(index, earlier);
  });
}
