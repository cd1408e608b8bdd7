import type { Event, Node, Pod } from 'kubernetes-types/core/v1.js';
import { DriverError } from '../../errors.ts';
import { ApiRefusal } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { conditionOf, gather, isRejected, mainStatus, parseId } from '../instances/instances.ts';
import { mainContainer } from '../manifests/pod.ts';
import { label, labelSelector, withRunLabels } from '../names/labels.ts';
import { eventsOfInstance } from './events.ts';
import { explain } from './failures.ts';
import { faultOf, rejection, silenceKind, type InstanceFacts } from './judge.ts';
import { failedReadiness, probeAttempts } from '../instances/probe-events.ts';

/** How long events of controllers count that have not created a pod. They repeat their attempts. */
const refusalMilliseconds = 120_000;
/** How long a node may take to begin with a pod, without a reason for the delay. */
const silentMilliseconds = 30_000;
/** How long a process may run without being ready, if the kubelet reports no failed probe. */
const quietMilliseconds = 60_000;

const readinessHint =
  'The instance gets no requests until the probe succeeds. The evidence has its last attempts: resolve what the process waits for, or correct the readiness probe of the service.';
const nodeHint =
  'Have the operator of the cluster repair the node. The cluster starts the instance on another node after some minutes, unless it has volumes.';

/** The state of the cluster by which instances are judged. */
export interface ClusterFacts {
  readonly pods: readonly Pod[];
  readonly events: readonly Event[];
  readonly nodes: readonly Node[];
  /** The current time, in milliseconds since 1970. */
  readonly now: number;
}

/** See `ClusterHealth.faults`. */
export async function faultsOfInstances(
  scope: Scope,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, DriverError>> {
  const faults = new Map<string, DriverError>();
  try {
    const byNamespace = Map.groupBy(ids.map(parseId), ({ namespace }) => namespace);
    const nodes = byNamespace.size === 0 ? [] : await nodesOf(scope, signal);
    for (const [namespace, own] of byNamespace) {
      const query = { labelSelector: labelSelector(scope.installation, 'instance', {}) };
      const { items } = await list<Pod>(scope.api, { path: pathOf('Pod', { namespace }), query }, signal);
      const pods = items.map(withRunLabels);
      const facts = { pods, events: await eventsIn(scope, namespace, signal), nodes, now: Date.now() };
      for (const { id, name } of own) {
        const fault = await faultOfInstance(scope, name, facts, signal);
        if (fault !== null) faults.set(id, fault);
      }
    }
    return faults;
  } catch (error) {
    throw translated(error, 'The state of the instances could not be read');
  }
}

/** Events are additional information, so the result is empty if they may not be read. */
async function eventsIn({ api }: Scope, namespace: string, signal: AbortSignal): Promise<readonly Event[]> {
  try {
    return (await list<Event>(api, { path: pathOf('Event', { namespace }), query: {} }, signal)).items;
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 403) return [];
    throw error;
  }
}

async function nodesOf({ api }: Scope, signal: AbortSignal): Promise<readonly Node[]> {
  try {
    return (await list<Node>(api, { path: pathOf('Node'), query: { resourceVersion: '0' } }, signal)).items;
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 403) return [];
    throw error;
  }
}

async function faultOfInstance(
  scope: Scope,
  name: string,
  facts: ClusterFacts,
  signal: AbortSignal,
): Promise<DriverError | null> {
  const { events, now } = facts;
  const own = facts.pods.filter(({ metadata }) => metadata?.labels?.[label.instance] === name);
  const [found] = gather([], own);
  const pod = found?.pods.find(({ metadata }) => metadata?.deletionTimestamp === undefined) ?? null;
  if (pod !== null && mainStatus(pod)?.state?.running !== undefined) return unreadiness(pod, facts);
  const began = now - refusalMilliseconds;
  const seen = { name, pod, events: eventsOfInstance(events, { name, pods: own, began }), began, now };
  // A node that refused or gave up a pod has said why. Its successor is judged once it exists.
  const suspicion = pod !== null && isRejected(pod) ? rejection(pod, false) : (lastingFault(seen)?.suspicion ?? null);
  if (suspicion === null) return null;
  const image = pod?.spec?.containers.find((one) => one.name === mainContainer)?.image ?? 'the image';
  return explain(scope, { image, memoryMiB: 0, readyTimeoutSeconds: 0, ports: [], readiness: null }, suspicion, signal);
}

function lastingFault(seen: InstanceFacts): ReturnType<typeof faultOf> {
  const fault = faultOf(seen);
  if (fault === null || !fault.id.endsWith(` ${silenceKind}`)) return fault;
  return seen.now - Date.parse(seen.pod?.metadata?.creationTimestamp ?? '') > silentMilliseconds ? fault : null;
}

/**
 * Returns why a running pod gets no requests. Returns null for one that is ready, and for one that has not been ready
 * since its start and of which no probe has failed: it is still starting. Pure.
 */
export function unreadiness(pod: Pod, { events, nodes, now }: Omit<ClusterFacts, 'pods'>): DriverError | null {
  const ready = conditionOf(pod, 'Ready');
  if (ready === undefined || ready.status === 'True') return null;
  const node = nodes.find(({ metadata }) => metadata?.name === pod.spec?.nodeName);
  const answers = node?.status?.conditions?.find(({ type }) => type === 'Ready');
  if (answers !== undefined && answers.status !== 'True') {
    const words = `${answers.reason ?? ''}: ${answers.message ?? ''}`;
    return new DriverError({
      cause: 'ENGINE_UNREACHABLE',
      message: `The node ${node?.metadata?.name} of the instance is not ready, so it is unknown whether the instance runs. ${words}`,
      hint: nodeHint,
      evidence: { original: words },
    });
  }
  const started = Date.parse(mainStatus(pod)?.state?.running?.startedAt ?? '');
  const ofPod = events.filter(({ involvedObject }) => involvedObject.uid === pod.metadata?.uid);
  const attempts = probeAttempts(ofPod, failedReadiness, started);
  const wasReady = Date.parse(ready.lastTransitionTime ?? '') > started;
  if (attempts.length === 0 && !wasReady && now - started < quietMilliseconds) return null;
  const message = `The readiness probe fails. ${attempts.at(-1) ?? ready.message ?? 'The kubelet reports no details.'}`;
  return new DriverError({ cause: 'PROBE_FAILED', message, hint: readinessHint, evidence: { probe: attempts } });
}
