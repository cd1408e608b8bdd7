import { createHash } from 'node:crypto';
import type { Ownership, Workload } from '../../workload.ts';

/*
 * Names on a cluster: readable, at most 63 characters, and the same for the same ids, so that making something a second time finds
 * the first one. What Kubernetes adds to the name of a controller (17 characters for a pod of a Deployment) fits as well.
 */

/** Namespace of an environment. */
export function namespaceName(installation: string, environment: string): string {
  return `davit-${digest(16, installation, environment)}`;
}

/** Namespace in which images are built, for all environments. */
export function buildNamespaceName(installation: string): string {
  return `davit-builds-${digest(16, installation)}`;
}

/** What all instances of a rollout share: their secret is called so. */
export function rolloutName(workload: Pick<Workload, 'owner' | 'name' | 'rollout'>): string {
  const { installation, service } = workload.owner;
  return `${slug(workload.name)}-${digest(10, installation, service, workload.rollout)}`;
}

/** Name of an instance in its namespace. */
export function instanceName(workload: Pick<Workload, 'owner' | 'name' | 'rollout'>, index: number): string {
  return `${rolloutName(workload)}-${index}`;
}

/** The schedule of a service: at most 52 characters, as Kubernetes puts the minute of each run behind it. */
export function scheduleName(
  workload: Pick<Workload, 'owner' | 'name'>,
  { expression, timezone }: { readonly expression: string; readonly timezone: string },
): string {
  const { installation, service } = workload.owner;
  return `${slug(workload.name)}-${digest(10, installation, service, expression, timezone)}`;
}

/** What is there once for a service, whatever the service is called by now. */
export function serviceObjectName(owner: Pick<Ownership, 'installation' | 'service'>): string {
  return `service-${digest(16, owner.installation, owner.service)}`;
}

/** Claim of a storage record. */
export function claimName(installation: string, storageId: string): string {
  return `volume-${digest(16, installation, storageId)}`;
}

/** Whether Kubernetes takes it as the name of a Service (RFC 1035). */
export function isServiceName(name: string): boolean {
  return /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(name);
}

export function digest(length: number, ...parts: string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, length);
}

function slug(text: string): string {
  const plain = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 28)
    .replace(/-+$/, '');
  return plain === '' ? 'service' : plain;
}
