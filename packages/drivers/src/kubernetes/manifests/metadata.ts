import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { markedKinds, ObjectMetadata } from '../../workload.ts';
import { reservedPrefix } from '../names/labels.ts';

/**
 * Metadata of an object with what users want there. What Davit itself writes goes before: it finds its objects by that, and by what it did not write
 * on them. Pure.
 */
export function withWanted(
  own: ObjectMeta,
  kind: (typeof markedKinds)[number] | null,
  wanted: ObjectMetadata | undefined,
): ObjectMeta {
  if (wanted === undefined) return own;
  const annotations = { ...(kind !== null && unreserved(wanted.annotations[kind])), ...own.annotations };
  return {
    ...own,
    labels: { ...unreserved(wanted.labels), ...own.labels },
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}

/** Groups that are older than the rule by which the API refuses such keys may have some. */
function unreserved(entries: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => !key.startsWith(reservedPrefix)));
}
