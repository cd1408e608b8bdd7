import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { markedKinds, ObjectMetadata } from '../../workload.ts';
import { reservedPrefix } from '../names/labels.ts';

/**
 * Returns the metadata of an object with the labels and annotations that users want. Davit's own keys take precedence:
 * Davit finds its objects by the keys that it wrote, and by the absence of those that it did not write. Pure.
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

/** Removes reserved keys. Groups that are older than the rule by which the API refuses such keys may have some. */
function unreserved(entries: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => !key.startsWith(reservedPrefix)));
}
