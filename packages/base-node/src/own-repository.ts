import { createHash } from 'node:crypto';
import { join } from 'node:path';

/**
 * Returns the folder of the repository that Davit keeps for the services of an organization with this URL. The server
 * writes it, and the source driver reads it. A repository is reached only with the organization's id.
 */
export function ownRepositoryFolder(root: string, organizationId: string, url: string): string {
  return join(root, organizationId, `${createHash('sha256').update(url).digest('hex')}.git`);
}
