import { inParallel } from '@davit/base';
import type { Event, Node, Pod } from 'kubernetes-types/core/v1.js';
import { DriverError } from '../../errors.ts';
import { ApiRefusal } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { pathOf, type Scope } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { conditionOf, gather, isRejected, mainStatus, parseId } from '../instances/instances.ts';
import { mainContainer } from '../manifests/pod.ts';
import { label, labelSelector, withRunLabels } from '../names/labels.ts';
import { eventsOfInstance } from '../events/events.ts';
import { explain } from './failures.ts';
import type { InstanceFacts } from './instance-facts.ts';
import { rejection } from './judge.ts';
import { failedReadiness, probeAttempts } from '../events/probe-events.ts';
import { faultOf, silenceKind } from './start-faults.ts';

/** How long events of controllers count that have not created a pod. They repeat their attempts. */
const refusalMilliseconds = 120_000;
/** How long a node may take to begin with a pod, without a reason for the delay. */
const silentMilliseconds = 30_000;
/**
 * How many lists of selected events are read of a namespace. The API server goes through all events of it for each, so
 * with more it is asked for one list of all.
 */
const selectorsAtMost = 4;
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
      const names = own.map(({ name }) => name);
      const facts = { pods, events: await eventsOf(scope, { namespace, names, pods }, signal), nodes, now: Date.now() };
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

interface Suspects {
  readonly namespace: string;
  /** The instances that do not serve. */
  readonly names: readonly string[];
  /** All pods of the namespace. */
  readonly pods: readonly Pod[];
}

/**
 * Returns the events of these instances. A namespace may have thousands of others: those of its other services, and the
 * repeated ones of an hour. Events are additional information, so the result is empty if they may not be read.
 */
async function eventsOf({ api }: Scope, { namespace, names, pods }: Suspects, signal: AbortSignal): Promise<readonly Event[]> {
  const own = names.map((name) => podOf(pods, name));
  const path = pathOf('Event', { namespace });
  const read = async (query: Readonly<Record<string, string>>): Promise<readonly Event[]> =>
    (await list<Event>(api, { path, query }, signal)).items;
  const selectors = [
    ...own.flatMap((pod) => (pod === null ? [] : [`involvedObject.uid=${pod.metadata?.uid}`])),
    // Without a pod, its controller says why there is none.
    ...(own.includes(null) ? ['involvedObject.kind!=Pod'] : []),
  ];
  try {
    if (selectors.length > selectorsAtMost) return await read({});
    return (await inParallel(selectors, selectorsAtMost, (fieldSelector) => read({ fieldSelector }))).flat();
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 403) return [];
    throw error;
  }
}

/** Returns the pod by which an instance is judged; null if it has none. */
function podOf(pods: readonly Pod[], name: string): Pod | null {
  const [found] = gather([], podsOf(pods, name));
  return found?.pods.find(({ metadata }) => metadata?.deletionTimestamp === undefined) ?? null;
}

function podsOf(pods: readonly Pod[], name: string): readonly Pod[] {
  return pods.filter(({ metadata }) => metadata?.labels?.[label.instance] === name);
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
  const own = podsOf(facts.pods, name);
  const pod = podOf(facts.pods, name);
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
