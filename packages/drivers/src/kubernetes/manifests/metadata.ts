import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { markedKinds, ObjectMetadata } from '../../workload.ts';

/** Metadata of an object with what users want there. What Davit itself writes goes before: it finds its objects by that. Pure. */
export function withWanted(
  own: ObjectMeta,
  kind: (typeof markedKinds)[number] | null,
  wanted: ObjectMetadata | undefined,
): ObjectMeta {
  if (wanted === undefined) return own;
  const annotations = { ...(kind !== null && wanted.annotations[kind]), ...own.annotations };
  return {
    ...own,
    labels: { ...wanted.labels, ...own.labels },
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}
