import type { Deployment, StatefulSet } from 'kubernetes-types/apps/v1.js';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { PodTemplateSpec } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { Workload } from '../../workload.ts';
import { annotation, formatPorts, label, rolloutLabels } from '../names/labels.ts';
import { instanceName, namespaceName, serviceObjectName } from '../names/names.ts';
import { withWanted } from './metadata.ts';
import { toPodSpec } from './pod.ts';
import type { ClusterSettings, ClusterTraits } from './settings.ts';

/** What makes the pod of an instance, and makes it anew when it is lost. */
export type Controller = Deployment | StatefulSet | Job;

/**
 * The controller of one instance: a Job for what runs once; a StatefulSet where there are volumes, as it makes
 * no second pod of the same instance while the first one may still write to them; otherwise a Deployment, which replaces a pod of a lost
 * node at once. One for each instance, so that each has a number of its own and can be taken away by it: several that share volumes all
 * write to them, from one node. Pure.
 */
export function toController(
  workload: Workload,
  index: number,
  { settings, traits }: { readonly settings: ClusterSettings; readonly traits: ClusterTraits },
): Controller {
  const name = instanceName(workload, index);
  const { installation, environment } = workload.owner;
  const labels = {
    ...rolloutLabels(workload, 'instance'),
    [label.index]: String(index),
    [label.instance]: name,
  };
  const annotations = {
    [annotation.name]: workload.name,
    [annotation.ports]: formatPorts(workload.ports),
    ...(workload.runsOnce === true && { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' }),
  };
  const metadata: ObjectMeta = { name, namespace: namespaceName(installation, environment), labels, annotations };
  const wanted = workload.metadata;
  const spec = toPodSpec(workload, settings, traits);
  const template: PodTemplateSpec = { metadata: withWanted({ labels, annotations }, 'Pod', wanted), spec };
  const selector = { matchLabels: { [label.installation]: installation, [label.instance]: name } };
  if (workload.runsOnce === true) {
    // Davit counts attempts itself: each is a Job of its own.
    return {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: withWanted(metadata, 'Job', wanted),
      spec: { backoffLimit: 0, template },
    };
  }
  if (workload.volumes.length > 0) {
    const serviceName = serviceObjectName(workload.owner);
    return {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: withWanted(metadata, 'StatefulSet', wanted),
      spec: { replicas: 1, serviceName, selector, template },
    };
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: withWanted(metadata, 'Deployment', wanted),
    spec: { replicas: 1, revisionHistoryLimit: 0, strategy: { type: 'Recreate' }, selector, template },
  };
}
