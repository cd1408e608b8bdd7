import type { operations, Query, Response } from '@davit/contract';
import { changedFields, fieldsOf, type ReleaseField, type ReleaseView } from '@davit/engine/port';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import { toCommit } from '../../../shared/history-details.ts';
import { notFound } from '../../../shared/problems.ts';
import { formerSecretPaths } from '../../../variable/index.ts';
import { currentRelease } from '../../composition.ts';
import type { ReleaseSettings } from '../../release.ts';
import type { ServiceFacts } from '../../rows.ts';
import { readVisibleFacts } from '../../visible.ts';
import { hiding } from './hiding.ts';

type Deps = Needs<'database' | 'engine', keyof ReleaseSettings>;
type Release = Response<(typeof operations)['getServiceRelease']>;
type Comparison = Response<(typeof operations)['compareServiceReleases']>;

/** Returns a release, without the values of secrets. */
export async function readRelease(
  deps: Deps,
  caller: Caller,
  { serviceId, releaseId }: { readonly serviceId: string; readonly releaseId: string },
): Promise<Release> {
  const facts = await readVisibleFacts(deps.database, caller, { id: serviceId, type: null });
  const release = await releaseOf(deps, serviceId, releaseId);
  const hidden = await hidingFor(deps, facts, await currentFields(deps, facts));
  return { ...toRecord(release), settings: release.fields.map(hidden.setting) };
}

/** Returns the differences between two releases of a service, without the values of secrets. */
export async function compareReleases(
  deps: Deps,
  caller: Caller,
  serviceId: string,
  { from: fromId, to: toId }: Query<(typeof operations)['compareServiceReleases']>,
): Promise<Comparison> {
  const facts = await readVisibleFacts(deps.database, caller, { id: serviceId, type: null });
  const to = toId === undefined ? null : await releaseOf(deps, serviceId, toId);
  const from = fromId === undefined ? await earlierOf(deps, serviceId, to) : await releaseOf(deps, serviceId, fromId);
  if (from === null) return { from: null, to: to === null ? null : toRecord(to), changes: [] };
  const current = await currentFields(deps, facts);
  const [before, after] = to === null ? [withoutBuild(from.fields), current] : [from.fields, to.fields];
  const hidden = await hidingFor(deps, facts, current);
  const values = { before: byPath(before), after: byPath(after) };
  const changes = changedFields(before, after).map(({ path, kind }) => ({
    path,
    kind,
    ...hidden.pair(values.before.get(path), values.after.get(path)),
  }));
  return { from: toRecord(from), to: to === null ? null : toRecord(to), changes };
}

async function releaseOf(deps: Deps, serviceId: string, releaseId: string): Promise<ReleaseView> {
  const release = await deps.engine.release(deps.database, serviceId, releaseId);
  if (release === null) throw notFound('release of this service');
  return release;
}

async function earlierOf(deps: Deps, serviceId: string, to: ReleaseView | null): Promise<ReleaseView | null> {
  if (to === null) return deps.engine.deployedRelease(deps.database, serviceId);
  return deps.engine.workingRelease(deps.database, serviceId, to.id);
}

/** Returns the settings with which the service would be deployed now. Its commit and image are unknown. */
async function currentFields(deps: Deps, facts: ServiceFacts): Promise<readonly ReleaseField[]> {
  const { config } = await currentRelease(deps, deps.database, facts);
  return fieldsOf({ config, commit: null, imageId: null });
}

function withoutBuild(fields: readonly ReleaseField[]): readonly ReleaseField[] {
  return fields.filter(({ path }) => path !== 'commit' && path !== 'image_digest');
}

/** Returns what hides the paths that have, had, or would have a secret, and the plain values that they had before. */
async function hidingFor(
  { database, engine }: Deps,
  { id, environment_id, project_id }: ServiceFacts,
  current: readonly ReleaseField[],
): Promise<ReturnType<typeof hiding>> {
  const ever = await engine.secretPaths(database, id);
  const former = await database.many(formerSecretPaths, [[id, environment_id, project_id]]);
  const secrets = new Set([
    ...ever,
    ...former.map(({ path }) => path),
    ...current.filter(({ value }) => value === null).map(({ path }) => path),
  ]);
  return hiding(secrets, await engine.plainValues(database, id, secrets));
}

function byPath(fields: readonly ReleaseField[]): ReadonlyMap<string, ReleaseField> {
  return new Map(fields.map((field) => [field.path, field]));
}

function toRecord({ id, createdAt, createdBy, commit }: ReleaseView): Omit<Release, 'settings'> {
  return { id, created_at: createdAt, created_by: createdBy, commit: toCommit(commit, createdAt) };
}
