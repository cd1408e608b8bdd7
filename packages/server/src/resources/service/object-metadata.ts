import type { AnnotationScope } from '@davit/contract';
import type { ReleaseConfig } from '@davit/engine/port';
import { isLocalDriver } from '../../local-driver.ts';
import { toGroupRecords, type Groups } from './groups.ts';
import type { ServiceFacts } from './rows.ts';

type Metadata = NonNullable<ReleaseConfig['metadata']>;
type Kind = keyof Metadata['annotations'];

/** The kind of Kubernetes object for each scope of annotations; null: Davit creates no such object. */
const kindOfScope: Readonly<Record<AnnotationScope, Kind | null>> = {
  DEPLOYMENTS: 'Deployment',
  STATEFUL_SETS: 'StatefulSet',
  SERVICES: 'Service',
  INGRESS: 'Ingress',
  PODS: 'Pod',
  SECRETS: 'Secret',
  JOBS: 'Job',
  GATEWAY_API_ROUTES: 'HTTPRoute',
  HPA: 'HorizontalPodAutoscaler',
  CRON_JOBS: 'CronJob',
};

/**
 * Returns the annotations and labels of a service's groups, for a cluster with objects that can have them. If two
 * groups set the same key, the later group wins. Absent if there are none, so that the hash of such a release does not
 * change.
 */
export function toObjectMetadata({ spec, driver }: ServiceFacts, groups: Groups): Pick<ReleaseConfig, 'metadata'> {
  if (isLocalDriver(driver)) return {};
  const { annotations_groups, labels_groups } = toGroupRecords(spec, groups);
  const labels = Object.fromEntries(labels_groups.flatMap((group) => group.labels.map(({ key, value }) => [key, value])));
  const annotations: { [K in Kind]?: Record<string, string> } = {};
  for (const { scopes, annotations: own } of annotations_groups) {
    for (const kind of scopes.map((scope) => kindOfScope[scope])) {
      if (kind === null) continue;
      annotations[kind] = { ...annotations[kind], ...Object.fromEntries(own.map(({ key, value }) => [key, value])) };
    }
  }
  const isEmpty = Object.keys(labels).length === 0 && Object.keys(annotations).length === 0;
  return isEmpty ? {} : { metadata: { labels, annotations } };
}
