import type { Queryable } from '@davit/db';
import { inUse } from '../shared/naming.ts';
import { usesOf, type ServiceUse } from './store.ts';

export type Used = keyof typeof usesOf;

/** Returns the services that use the record, oldest first. */
export function readUses(db: Queryable, used: Used, id: string): Promise<ServiceUse[]> {
  return db.many(usesOf[used], [id]);
}

/**
 * Fails with IN_USE, naming the services, if a service uses the record. The result is reliable only while the record's
 * row is locked, as services lock the records that they begin to use.
 */
export async function refuseUsed(
  db: Queryable,
  used: Used,
  { id, noun }: { readonly id: string; readonly noun: string },
): Promise<void> {
  const names = (await readUses(db, used, id)).map(({ service_name }) => service_name);
  if (names.length > 0) throw inUse(`The ${noun}`, { noun: 'the services', names });
}

/** Returns the entry for a list of associated services. `types`: the types of service that can use the record. */
export function toAssociatedService<Type extends string>(
  { cluster_id: _id, cluster_name: _name, item_type, ...ids }: ServiceUse,
  types: readonly Type[],
): Omit<ServiceUse, 'cluster_id' | 'cluster_name' | 'item_type'> & { service_type: Type } {
  return { ...ids, service_type: narrowed(item_type, types) };
}

/** Returns the entry for a list of associated items. */
export function toAssociatedItem<Type extends string>(
  { service_id, service_name, item_type, ...ids }: ServiceUse,
  types: readonly Type[],
): Omit<ServiceUse, 'service_id' | 'service_name' | 'item_type'> & { item_id: string; item_name: string; item_type: Type } {
  return { ...ids, item_id: service_id, item_name: service_name, item_type: narrowed(item_type, types) };
}

function narrowed<Type extends string>(word: string, types: readonly Type[]): Type {
  const found = types.find((type) => type === word);
  if (found === undefined) throw new Error(`a service of type ${word} cannot use this`);
  return found;
}
