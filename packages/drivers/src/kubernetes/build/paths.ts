import type { ClusterBuildRequest } from '../../image-builder.ts';
import { label, serviceLabels } from '../names/labels.ts';
import type { Labels } from '../../shared/labels.ts';
import { digest } from '../../shared/digest.ts';

/** Paths in the containers of a build. */
export const ids = {
  socket: '/davit/socket/buildkitd.sock',
  context: '/davit/context',
  /** Folder of the client, in memory. */
  own: '/davit/own',
} as const;

/** Names of the client's files in `place.own`. */
export const ownFile = { credentials: 'config.json', policy: 'policy.json', metadata: 'metadata.json' } as const;

/** Returns the labels by which the Jobs of an image are found. Pure. */
export function buildLabels({ owner, reference }: Pick<ClusterBuildRequest, 'owner' | 'reference'>): Labels {
  return { ...serviceLabels(owner, 'build'), [label.build]: digest(16, reference) };
}
