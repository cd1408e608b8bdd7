import { digest } from '../shared/digest.ts';
import type { Ownership, Workload } from '../workload.ts';

/**
 * Returns the name of an instance. The name is readable, and identical for the same (installation, service, rollout,
 * index): creating an instance a second time conflicts with the first one, which is then adopted.
 */
export function instanceName(workload: Workload, index: number): string {
  const { installation, service } = workload.owner;
  return `davit-${slug(workload.name)}-${digest(12, installation, service, workload.rollout)}-${index}`;
}

/** Returns the name of the container that holds the address of a service. */
export function holderName({ installation, service }: Pick<Ownership, 'installation' | 'service'>): string {
  return `davit-address-${digest(16, installation, service)}`;
}

/** Returns the name of an environment's network. */
export function networkName(owner: Pick<Ownership, 'installation' | 'environment'>): string {
  return `davit-${digest(16, owner.installation, owner.environment)}`;
}

/** Prefix of the bridge interface names of environments. */
export const bridgePrefix = 'dv-';

/**
 * Returns the name of the bridge interface of an environment's network. Linux allows at most 15 characters. Davit
 * chooses the name because Podman numbers bridges separately in each service process, so two Podman services on one
 * machine would share `podman1`.
 */
export function bridgeName(owner: Pick<Ownership, 'installation' | 'environment'>): string {
  return `${bridgePrefix}${digest(12, owner.installation, owner.environment)}`;
}

/**
 * Returns the name of the volume of a storage record, derived from the record's id. The name differs for each
 * installation on an engine.
 */
export function volumeName(installation: string, storageId: string): string {
  return `davit-${digest(8, installation)}-${slug(storageId)}-${digest(8, storageId)}`;
}

// Container names allow only [a-zA-Z0-9][a-zA-Z0-9_.-]*, whereas a service's name is any text.
function slug(text: string): string {
  const plain = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return plain === '' ? 'service' : plain;
}
