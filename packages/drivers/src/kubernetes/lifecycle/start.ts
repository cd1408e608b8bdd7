import { abortablePause, allEnded, inParallel } from '@davit/base';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { PersistentVolumeClaim, Service } from 'kubernetes-types/core/v1.js';
import type { CallContext } from '../../driver.ts';
import type { Workload } from '../../workload.ts';
import { ApiRefusal, find, type KubernetesObject } from '../client/api.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { list } from '../client/follow.ts';
import { ensureNamespace } from '../client/namespace.ts';
import { apply, pathOf, pathTo, remove, type Scope } from '../client/objects.ts';
import { podsOf } from '../client/pods.ts';
import { translated } from '../client/refusals.ts';
import { endOfJob, isRejected } from '../instances/instances.ts';
import { hasChanged, keepingPorts } from '../manifests/addresses.ts';
import { toManifests, type Manifests } from '../manifests/index.ts';
import { label, labelSelector } from '../names/labels.ts';
import { isServiceName, namespaceName, serviceObjectName } from '../names/names.ts';
import { awaitStarted } from './progress.ts';
import { hasInstances } from './serve.ts';

const atOnce = 4;
const lookAgainMilliseconds = 200;

/** Creates all objects of a workload and waits until its processes have started. See `ClusterDriver.start`. */
export async function startWorkload(scope: ClusterScope, workload: Workload, context: CallContext): Promise<void> {
  try {
    const { signal } = context;
    const now = await servedNow(scope, workload, signal);
    const manifests = toManifests(workload, scope, now.served ?? workload.rollout);
    const mayHave = ({ metadata }: Service): boolean => workload.takesNames === true || !now.others.has(metadata?.name);
    const services = manifests.services.filter(mayHave).map((one) => besideServed(one, now));
    logRemarks(workload, now, context);
    await ensureNamespace(scope, manifests.namespace, signal);
    await allEnded([
      apply(scope, manifests.networkPolicy, signal),
      ...manifests.secrets.map((secret) => apply(scope, secret, signal)),
      ...manifests.claims.map((claim) => ensureClaim(scope, claim, context)),
      ...services.map((service) => ensureService(scope, service, now, signal)),
      ensureBudget(scope, workload, manifests, signal),
    ]);
    await inParallel(manifests.controllers, atOnce, (controller) => ensureController(scope, controller, signal));
  } catch (error) {
    throw translated(error, `${workload.name} could not be started on the cluster`);
  }
  await awaitStarted(scope, workload, context);
}

function logRemarks({ hostnames, takesNames }: Workload, { others }: Served, context: CallContext): void {
  for (const name of hostnames.filter((one) => !isServiceName(one))) {
    context.log(`Kubernetes does not accept the name ${name}: other services reach this one by its other names.`);
  }
  for (const name of new Set(hostnames)) {
    const other = others.get(name);
    if (other === undefined) continue;
    const id = other.metadata?.labels?.[label.service];
    context.log(
      takesNames === true
        ? `The name ${name} now leads to this service and no longer to the service ${id}, which was deployed under that name.`
        : `The name ${name} now belongs to another service (${id}): this service is reached by its other names.`,
    );
  }
}

interface Served {
  /** The existing Services of this service, by name. */
  readonly addresses: ReadonlyMap<string | undefined, Service>;
  /** The Services of other services in the same environment, by name. */
  readonly others: ReadonlyMap<string | undefined, Service>;
  /** The other rollout that the Services select, or null if that rollout does not exist. */
  readonly served: string | null;
  /** Whether the Services select no existing rollout. */
  readonly isIdle: boolean;
}

/**
 * Returns which rollout the Services of a workload's service select. A rollout that is started beside another one gets
 * no requests until `serveRollout` switches to it.
 */
async function servedNow(scope: ClusterScope, { owner, rollout }: Workload, signal: AbortSignal): Promise<Served> {
  const { api, installation } = scope;
  const { environment, service } = owner;
  const path = pathOf('Service', { namespace: namespaceName(installation, environment) });
  const query = { labelSelector: labelSelector(installation, 'address', { environment }) };
  const { items } = await list<Service>(api, { path, query }, signal);
  const isOwn = ({ metadata }: Service): boolean => metadata?.labels?.[label.service] === service;
  const [addresses, others] = [byName(items.filter(isOwn)), byName(items.filter((item) => !isOwn(item)))];
  const leads = addresses.get(serviceObjectName(owner))?.spec?.selector?.[label.rollout];
  const isThere = leads !== undefined && (await hasInstances(scope, { service, rollout: leads }, signal));
  return { addresses, others, served: isThere && leads !== rollout ? leads : null, isIdle: !isThere };
}

function byName(services: readonly Service[]): Served['addresses'] {
  return new Map(services.map((service) => [service.metadata?.name, service]));
}

function besideServed(service: Service, { addresses, served, isIdle }: Served): Service {
  const existing = addresses.get(service.metadata?.name);
  const mustKeep = served !== null || (!isIdle && hasChanged(service, existing));
  return mustKeep ? keepingPorts(service, existing) : service;
}

// A Service can neither gain nor lose its address. For such a change it is created anew, but only if it selects no
// existing rollout, or belongs to another service whose name is taken over.
async function ensureService(
  scope: Scope,
  service: Service,
  { addresses, others, isIdle }: Served,
  signal: AbortSignal,
): Promise<void> {
  const { name } = service.metadata ?? {};
  const replaced = others.get(name) ?? (isIdle ? addresses.get(name) : undefined);
  if (hasChanged(service, replaced)) await remove(scope.api, pathTo(service), signal, { uid: replaced?.metadata?.uid });
  await apply(scope, service, signal);
}

// A claim can grow if its storage class allows that. Nothing else of a claim can change.
async function ensureClaim(scope: Scope, claim: PersistentVolumeClaim, context: CallContext): Promise<void> {
  const there = await find<PersistentVolumeClaim>(scope.api, pathTo(claim), context.signal);
  // The call waits for a claim that is being deleted, and creates it anew.
  const found = there?.metadata?.deletionTimestamp === undefined ? there : null;
  const size = (one: PersistentVolumeClaim): string => one.spec?.resources?.requests?.['storage'] ?? '';
  if (found !== null && size(found) === size(claim)) return;
  // The storage class that the cluster chose stays, whatever the current settings say.
  const kept = found?.spec?.storageClassName;
  const wanted = kept === undefined ? claim : { ...claim, spec: { ...claim.spec, storageClassName: kept } };
  try {
    await apply(scope, wanted, context.signal);
  } catch (error) {
    if (found === null || !(error instanceof ApiRefusal)) throw error;
    context.log(`The volume keeps its size of ${size(found)}: the cluster did not resize it to ${size(claim)} (${error.words}).`);
  }
}

async function ensureBudget(scope: Scope, { owner }: Workload, manifests: Manifests, signal: AbortSignal): Promise<void> {
  const { disruptionBudget, namespace } = manifests;
  if (disruptionBudget !== null) {
    await apply(scope, disruptionBudget, signal);
    return;
  }
  const ids = { namespace: namespace.metadata?.name, name: serviceObjectName(owner) };
  await remove(scope.api, pathOf('PodDisruptionBudget', ids), signal);
}

// An existing controller is left as it is: its pods run this rollout, and a change of its template would replace them.
// A Job whose process never started is replaced: it has done nothing that could be done twice, and would otherwise stay
// as it is.
async function ensureController(scope: Scope, controller: KubernetesObject, signal: AbortSignal): Promise<void> {
  for (;;) {
    const found = await find<KubernetesObject & Job>(scope.api, pathTo(controller), signal);
    if (found === null) {
      await apply(scope, controller, signal);
      return;
    }
    const isLeaving = found.metadata?.deletionTimestamp !== undefined;
    if (!isLeaving && found.metadata?.labels?.[label.installation] !== scope.installation) await apply(scope, controller, signal);
    else if (!isLeaving) {
      if (controller.kind !== 'Job' || !(await neverBegan(scope, found, signal))) return;
      const uid = found.metadata?.uid;
      await remove(scope.api, pathTo(controller), signal, { uid, staysFor: 'WHAT_IT_MADE' });
    }
    await abortablePause(lookAgainMilliseconds, signal);
  }
}

/** Returns whether a Job has failed permanently because nodes rejected all of its pods. */
async function neverBegan(scope: Scope, job: Job, signal: AbortSignal): Promise<boolean> {
  if (endOfJob(job)?.type !== 'Failed') return false;
  const { namespace = '', name = '' } = job.metadata ?? {};
  const pods = await podsOf(scope, { namespace, name }, signal);
  return pods.length > 0 && pods.every(isRejected);
}
