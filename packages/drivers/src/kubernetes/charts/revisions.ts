import type { ChartRef, ChartRevision } from '../../helm-driver.ts';
import { call, type KubernetesObject } from '../client/api.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { label } from '../names/labels.ts';
import { namespaceName } from '../names/names.ts';

/** See `ClusterCharts.revisions`. Helm stores each revision in a Secret and describes it in labels. */
export async function readRevisions(
  { api }: Scope,
  { owner, release }: ChartRef,
  signal: AbortSignal,
): Promise<readonly ChartRevision[]> {
  const namespace = namespaceName(owner.installation, owner.environment);
  const query = { labelSelector: `owner=helm,name=${release}` };
  const path = pathOf('Secret', { namespace });
  // Only the metadata is read: the data of the Secrets are all templates and values of each revision.
  const { body } = await call<{ readonly items: readonly KubernetesObject[] | null }>(api, {
    method: 'GET',
    path,
    query,
    signal,
    metadataOnly: true,
  });
  // In that form, an empty list is null.
  return (body.items ?? [])
    .map(({ metadata }) => toRevision(metadata?.labels ?? {}))
    .toSorted((left, right) => left.revision - right.revision);
}

function toRevision(labels: Readonly<Record<string, string>>): ChartRevision {
  return {
    revision: Number(labels['version'] ?? 0),
    status: labels['status'] ?? '',
    service: labels[label.service] ?? null,
    rollout: labels[label.rollout] ?? null,
  };
}
