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

/** The object that creates the pod of an instance, and recreates a lost pod. */
export type Controller = Deployment | StatefulSet | Job;

/**
 * Returns the controller of one instance. Pure. Each instance has its own controller, so that it has a number and can
 * be removed by that number. Several instances that share volumes all write to them, from one node. The kinds are:
 * - A Job, for a workload that runs once.
 * - A StatefulSet, if there are volumes: it creates no second pod of an instance while the first may still write to
 *   them.
 * - A Deployment otherwise: it replaces the pod of a lost node at once.
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
    // Davit counts attempts itself: each attempt is a Job of its own.
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
