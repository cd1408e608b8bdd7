/*
 * Repositories that an installation keeps itself have the URL `davit:<id>`, and are in the folder `<id>.git`. The git
 * remote of the server writes them; the source driver reads them, without a network.
 */

const own = /^davit:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Returns the id of a repository that the installation keeps itself; null for the URL of any other one. */
export function ownRepositoryId(url: string): string | null {
  return own.exec(url)?.[1] ?? null;
}
