import type { Needs } from '../deps.ts';
import { gitRepositories, type RepositorySettings } from './repositories.ts';
import { ownRepositories } from './store.ts';

/** Removes repositories that no application names any more, and what killed pushes left; merges packs. */
export async function tidyRepositories(
  { database, config }: Needs<'database', RepositorySettings>,
  signal: AbortSignal,
): Promise<void> {
  const urls = (await database.many(ownRepositories)).map(({ url }) => url);
  await gitRepositories(config).tidy(new Set(urls), signal);
}
