import type { Queryable } from '@davit/db';
import type { Needs } from '../../../../deps.ts';
import { currentReleases } from '../../composition.ts';
import type { ReleaseSettings } from '../../release.ts';
import { readEnvironmentFacts, releasesMark } from '../../store.ts';
import { MarkedMemory } from '../../../shared/marked-memory.ts';

/** A service as it would be deployed now. */
export interface CurrentService {
  readonly id: string;
  readonly type: string;
  readonly isSkipped: boolean;
  /** Hash of the current configuration. */
  readonly hash: string;
}

export interface CurrentServices {
  /** Changes when the current configuration of a service may have changed. */
  readonly mark: string;
  /** All services of the environment, in the order of deployment. */
  readonly services: readonly CurrentService[];
}

const mostServices = 50_000;
/** By configuration: a release depends on it, and a process of a test has several servers. */
const memories = new WeakMap<object, MarkedMemory<readonly CurrentService[]>>();

/**
 * Returns the services of an environment with the hashes of their current configurations. These are only composed again
 * after something that they are made of has changed, as that takes most of the time of a status.
 */
export async function currentServices(
  deps: Needs<'engine', keyof ReleaseSettings>,
  db: Queryable,
  environmentId: string,
): Promise<CurrentServices> {
  const memory = memories.get(deps.config) ?? new MarkedMemory(mostServices, (services) => services.length);
  memories.set(deps.config, memory);
  const { mark } = await db.one(releasesMark, [environmentId]);
  const known = memory.get(environmentId, mark);
  if (known !== undefined) return { mark, services: known };
  const facts = await db.many(readEnvironmentFacts, [environmentId]);
  const releases = await currentReleases(deps, db, environmentId, facts);
  const services = facts.flatMap(({ id, type, is_skipped: isSkipped }, index): CurrentService[] => {
    const release = releases[index];
    return release === undefined ? [] : [{ id, type, isSkipped, hash: deps.engine.hash(release.config) }];
  });
  // Changes that were made in the meantime may or may not be part of the result.
  const { mark: after } = await db.one(releasesMark, [environmentId]);
  if (after === mark) memory.set(environmentId, mark, services);
  else memory.forget(environmentId);
  return { mark, services };
}
