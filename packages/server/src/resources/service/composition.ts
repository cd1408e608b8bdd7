import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import { sourceSettings, type ReleaseConfig } from '@davit/engine/port';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from './release.ts';
import {
  cycle,
  level,
  readEnvironmentVariables,
  storeDerivedSecrets,
  visibleVariables,
  type VariableRow,
} from '../variable/index.ts';
import { isLocalDriver } from '../../local-driver.ts';
import { readGroups } from './groups.ts';
import { kindOf } from './kinds/index.ts';
import { composeRelease, type ComposedRelease } from './release.ts';
import type { ServiceFacts } from './rows.ts';

/** Returns the release that the service would run if it were deployed now. Runs one query. */
export async function currentRelease(
  deps: Needs<never, keyof ReleaseSettings>,
  db: Queryable,
  facts: ServiceFacts,
): Promise<ComposedRelease> {
  const ids = { projectId: facts.project_id, environmentId: facts.environment_id, serviceId: facts.id };
  const groups = await readGroups(db, marked([facts]));
  return composeRelease(facts, await visibleVariables(db, ids), deps.config, groups);
}

/** Returns the current releases of all given services, in their order. Runs one query for all of them. */
export async function currentReleases(
  deps: Needs<never, keyof ReleaseSettings>,
  db: Queryable,
  environmentId: string,
  services: readonly ServiceFacts[],
): Promise<readonly ComposedRelease[]> {
  if (services.length === 0) return [];
  const rows = await db.many(readEnvironmentVariables, [environmentId]);
  const wide = rows.filter((row) => level(row) < 2);
  const own = Map.groupBy(rows, (row: VariableRow) => row.service_id);
  const groups = await readGroups(db, marked(services));
  return services.map((facts) => composeRelease(facts, [...wide, ...(own.get(facts.id) ?? [])], deps.config, groups));
}

/** Returns the specs whose groups become part of the release. */
function marked(services: readonly ServiceFacts[]): ServiceFacts['spec'][] {
  return services.filter(({ driver }) => !isLocalDriver(driver)).map(({ spec }) => spec);
}

/**
 * Returns the configuration for a request to the engine, after storing the derived secrets that it references. Must run
 * in the transaction of the request. Fails with VARIABLE_CYCLE, CLUSTER_KIND_UNSUPPORTED or NOT_SUPPORTED.
 */
export async function releasable(
  deps: Needs<'vault'>,
  tx: Queryable,
  facts: ServiceFacts,
  composed: ComposedRelease,
): Promise<ReleaseConfig> {
  assertResolvable(facts, composed);
  await storeDerived(deps, tx, facts, composed);
  return composed.config;
}

/** Stores the derived secrets that a checked configuration references. Must run in the transaction of the request. */
export async function storeDerived(
  deps: Needs<'vault'>,
  tx: Queryable,
  facts: ServiceFacts,
  { derived }: ComposedRelease,
): Promise<void> {
  await storeDerivedSecrets(deps, tx, { organizationId: facts.organization_id, serviceId: facts.id }, derived);
}

/**
 * Fails if the service cannot be deployed:
 * - VARIABLE_CYCLE: a variable's value refers back to itself. Variables of wider scopes can form such a cycle with
 *   narrower ones.
 * - CLUSTER_KIND_UNSUPPORTED: the kind of service, or one of its settings, does not work on this kind of cluster.
 * - NOT_SUPPORTED: a part of the spec cannot be deployed on any cluster.
 */
export function assertResolvable(
  facts: Pick<ServiceFacts, 'name' | 'type' | 'spec' | 'driver'>,
  { config, circles }: ComposedRelease,
): void {
  const kind = kindOf(facts.type);
  const obstacle = kind.obstacle?.(facts.spec, facts.driver) ?? null;
  if (obstacle !== null) throw new AppError({ code: 'CLUSTER_KIND_UNSUPPORTED', message: `${facts.name} ${obstacle}` });
  const restricting = isLocalDriver(facts.driver) ? [] : sourceSettings(config);
  if (restricting.length > 0) throw restrictsNobody(facts.name, restricting);
  const fault = kind.fault?.(facts.spec) ?? null;
  if (fault !== null) throw new AppError({ code: 'NOT_SUPPORTED', message: `${facts.name} ${fault}` });
  const [way] = circles;
  if (way !== undefined) throw cycle(way, `at the service ${facts.name}`);
}

/**
 * Returns the error for settings that the cluster would ignore. If the service were deployed anyway, users would
 * believe that access to it is restricted.
 */
function restrictsNobody(name: string, settings: readonly string[]): AppError {
  const words = settings.join(' and ');
  return new AppError({
    code: 'CLUSTER_KIND_UNSUPPORTED',
    message: `${name} restricts client addresses by ${words}, but the cluster of its environment would serve everybody: requests enter through its own ingress controller, which ignores these settings. Restrict client addresses there, for example by an annotation group with the scope INGRESS, and set ${words} back to the default (null)`,
  });
}
