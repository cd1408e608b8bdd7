import { digest } from '../../shared/digest.ts';
import type { Ownership, Workload } from '../../workload.ts';

/*
 * Names on a cluster are readable and have at most 63 characters. Equal ids give equal names, so that creating an
 * object a second time finds the first one. The suffix that Kubernetes adds to the name of a controller (17 characters
 * for a pod of a Deployment) fits as well.
 */

/** Returns the namespace of an environment. */
export function namespaceName(installation: string, environment: string): string {
  return `davit-${digest(16, installation, environment)}`;
}

/** Returns the namespace in which images are built, for all environments. */
export function buildNamespaceName(installation: string): string {
  return `davit-builds-${digest(16, installation)}`;
}

/** Returns the name that all instances of a rollout share. Their secret has this name. */
export function rolloutName(workload: Pick<Workload, 'owner' | 'name' | 'rollout'>): string {
  const { installation, service } = workload.owner;
  return `${slug(workload.name)}-${digest(10, installation, service, workload.rollout)}`;
}

/** Returns the name of an instance in its namespace. */
export function instanceName(workload: Pick<Workload, 'owner' | 'name' | 'rollout'>, index: number): string {
  return `${rolloutName(workload)}-${index}`;
}

/**
 * Returns the name of a service's schedule. It has at most 52 characters, because Kubernetes appends the minute of each
 * run.
 */
export function scheduleName(
  workload: Pick<Workload, 'owner' | 'name'>,
  { expression, timezone }: { readonly expression: string; readonly timezone: string },
): string {
  const { installation, service } = workload.owner;
  return `${slug(workload.name)}-${digest(10, installation, service, expression, timezone)}`;
}

/** Returns the name of objects that exist once for each service. It does not change when the service is renamed. */
export function serviceObjectName(owner: Pick<Ownership, 'installation' | 'service'>): string {
  return `service-${digest(16, owner.installation, owner.service)}`;
}

/** Returns the name of the claim of a storage record. */
export function claimName(installation: string, storageId: string): string {
  return `volume-${digest(16, installation, storageId)}`;
}

/** Returns whether Kubernetes accepts the name for a Service (RFC 1035). */
export function isServiceName(name: string): boolean {
  return /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(name);
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
