import { createHash } from 'node:crypto';
import type { Ownership, Workload } from '../workload.ts';

/**
 * Name of an instance: readable, and the same for the same (installation, service, rollout, index), so that making it a
 * second time collides with the first one, which is then adopted.
 */
export function instanceName(workload: Workload, index: number): string {
  const { installation, service } = workload.owner;
  return `davit-${slug(workload.name)}-${digest(12, installation, service, workload.rollout)}-${index}`;
}

/** Name of an environment's network. */
export function networkName(owner: Pick<Ownership, 'installation' | 'environment'>): string {
  return `davit-${digest(16, owner.installation, owner.environment)}`;
}

/** What the names of the bridge interfaces of environments begin with. */
export const bridgePrefix = 'dv-';

/**
 * Name of the bridge interface of an environment's network; 15 characters is the most that Linux takes. Given by us because
 * Podman numbers its own per service process, so two Podman services of one machine would share `podman1`.
 */
export function bridgeName(owner: Pick<Ownership, 'installation' | 'environment'>): string {
  return `${bridgePrefix}${digest(12, owner.installation, owner.environment)}`;
}

/** Name of the volume of a storage record: its id, apart for each installation of an engine. */
export function volumeName(installation: string, storageId: string): string {
  return `davit-${digest(8, installation)}-${slug(storageId)}-${digest(8, storageId)}`;
}

function digest(length: number, ...parts: string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, length);
}

// Container names take [a-zA-Z0-9][a-zA-Z0-9_.-]* only; a service's name is any text.
function slug(text: string): string {
  const plain = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
  return plain === '' ? 'service' : plain;
}
