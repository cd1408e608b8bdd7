import type { Namespace, PersistentVolumeClaim, Secret, Service } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { DriverError } from '../../errors.ts';
import { refuseImpossibleProcess } from '../../shared/process-size.ts';
import { refuseUnusablePaths } from '../../shared/workload-paths.ts';
import type { Workload } from '../../workload.ts';
import { toDisruptionBudget, toServices } from './addresses.ts';
import { toClaims, toNamespace, toNetworkPolicy } from './environment.ts';
import { toController, type Controller } from './instance.ts';
import { withWanted } from './metadata.ts';
import type { ClusterSettings, ClusterTraits } from './settings.ts';
import { toPullSecret, toValues } from './values.ts';

/** All objects of a workload on a cluster, in the order of their creation. */
export interface Manifests {
  readonly namespace: Namespace;
  readonly networkPolicy: NetworkPolicy;
  readonly secrets: readonly Secret[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly services: readonly Service[];
  readonly disruptionBudget: PodDisruptionBudget | null;
  readonly controllers: readonly Controller[];
}

/**
 * Returns the objects of a workload, with instances from `firstInstance` on. `serving` is the rollout that its Services
 * select. Fails with START_FAILED if no cluster can run the workload. Pure.
 */
export function toManifests(
  workload: Workload,
  cluster: { readonly settings: ClusterSettings; readonly traits: ClusterTraits },
  serving: string,
): Manifests {
  refuseHostPorts(workload);
  refuseUnusablePaths(workload);
  refuseImpossibleProcess(workload);
  refuseLargeObjects(workload);
  const { settings } = cluster;
  const { metadata: wanted } = workload;
  const first = workload.firstInstance ?? 0;
  const indices = Array.from({ length: Math.max(workload.instances - first, 0) }, (_, offset) => first + offset);
  return {
    namespace: toNamespace(workload.owner, settings),
    networkPolicy: toNetworkPolicy(workload.owner, settings),
    secrets: [toValues(workload), toPullSecret(workload)]
      .filter((secret) => secret !== null)
      .map((secret) => ({ ...secret, metadata: withWanted(secret.metadata ?? {}, 'Secret', wanted) })),
    claims: toClaims(workload, settings).map((claim) => ({ ...claim, metadata: withWanted(claim.metadata ?? {}, null, wanted) })),
    services: toServices(workload, serving).map((service) => ({
      ...service,
      metadata: withWanted(service.metadata ?? {}, 'Service', wanted),
    })),
    disruptionBudget: toDisruptionBudget(workload),
    controllers: indices.map((index) => toController(workload, index, cluster)),
  };
}

/** Most bytes of annotations that Kubernetes accepts for an object. */
const mostAnnotationBytes = 256 * 1024;
/** Most bytes of the texts of a pod. Etcd stores objects of at most 1.5 MiB. */
const mostPodBytes = 1280 * 1024;

// Refuses texts that do not fit into an object.
function refuseLargeObjects({ name, metadata, entrypoint, arguments: args, readiness, liveness }: Workload): void {
  for (const [kind, annotations] of Object.entries(metadata?.annotations ?? {})) {
    const bytes = bytesOf(Object.entries(annotations).flat()) + Buffer.byteLength(name) + 4096;
    if (bytes <= mostAnnotationBytes) continue;
    throw new DriverError({
      cause: 'START_FAILED',
      message: `The annotations of the service's groups for the kind ${kind} have ${bytes} bytes with Davit's own; Kubernetes accepts at most ${mostAnnotationBytes}.`,
      hint: 'Remove annotations from the groups, or groups from the service.',
    });
  }
  const commands = [readiness, liveness].flatMap((probe) => (probe?.check.type === 'exec' ? probe.check.command : []));
  const bytes = bytesOf([...entrypoint, ...args, ...commands].map((text) => JSON.stringify(text)));
  if (bytes <= mostPodBytes) return;
  throw new DriverError({
    cause: 'START_FAILED',
    message: `Command, arguments and probes of the service have ${bytes} bytes; a Kubernetes cluster stores at most ${mostPodBytes}.`,
    hint: 'Use FILE variables for large values, or put them into the image.',
  });
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

// Refuses host ports. A port of a node can be reached only on that node, and Pod Security forbids it.
function refuseHostPorts({ ports }: Workload): void {
  const port = ports.find(({ hostPort }) => hostPort !== undefined);
  if (port === undefined) return;
  throw new DriverError({
    cause: 'START_FAILED',
    message: `Port ${port.internalPort} is UDP and public, which Davit cannot offer on a Kubernetes cluster.`,
    hint: 'Set publicly_accessible of the port to false; other services of the environment can reach it then.',
  });
}
