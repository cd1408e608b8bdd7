import type { Body, operations, Response, VariableScope } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { Problems } from '../shared/problems.ts';
import { checkLength } from './check.ts';
import { checkKey } from './key.ts';
import {
  holdPlace,
  standsAt,
  type PlaceReference,
  type ServicePlaceReference,
  type VariablePlace,
  type VariableRoom,
} from './place.ts';
import { createOverride } from './relation.ts';
import { visibleAt, type Scene } from './scene.ts';
import { createVariable, editVariable } from './variable.ts';

export type ImportRequest = Body<(typeof operations)['importEnvironmentVariables']>;
export type Import = Response<(typeof operations)['importEnvironmentVariables']>;
type Item = ImportRequest['vars'][number];

/**
 * Writes many variables and secrets, each to the service, its environment or its project, all or (VALIDATION_FAILED, each named
 * by its place in the list) none. Keys that are there already are left alone, or with `overwrite` get the value: inherited ones by
 * an override. Left alone in any case: aliases, and what is a secret there and a variable here or the other way round. The answer
 * lists what was written.
 */
export function importVariables(
  room: VariableRoom,
  caller: Caller,
  reference: ServicePlaceReference,
  request: ImportRequest,
): Promise<Import> {
  const { deps } = room;
  checkItems(request.vars, reference, deps.config.variablePrefix);
  return deps.database.transaction(async (tx) => {
    const placeOf = await heldPlaces(room, tx, caller, reference);
    const done: Item[] = [];
    // Wide scopes first, so that a narrower one of the same key in the list overrides it.
    for (const item of request.vars.toSorted((a, b) => order(a.scope) - order(b.scope))) {
      const scene = { deps, tx, place: await placeOf(item.scope) };
      if (await importOne(scene, item, request.overwrite)) done.push(item);
    }
    return {
      total_variables_to_import: request.vars.length,
      successful_imported_variables: request.vars
        .filter((item) => done.includes(item))
        .map(({ name, value, scope, is_secret }) => ({ name, scope, is_secret, ...(is_secret ? {} : { value }) })),
    };
  });
}

async function importOne(scene: Scene, { name, value, is_secret }: Item, overwrite: boolean): Promise<boolean> {
  const found = (await visibleAt(scene.tx, scene.place)).filter((row) => row.key === name);
  const own = found.find((row) => standsAt(row, scene.place));
  const inherited = found.find((row) => row.type !== 'OVERRIDE');
  if (own === undefined && inherited === undefined) {
    await createVariable(scene, is_secret, { key: name, value });
    return true;
  }
  const isSame = (own ?? inherited)?.is_secret === is_secret;
  if (!overwrite || !isSame || own?.type === 'ALIAS') return false;
  if (own !== undefined) await editVariable(scene, { id: own.id, isSecret: is_secret }, { key: name, value });
  else if (inherited !== undefined) await createOverride(scene, { id: inherited.id, isSecret: is_secret }, { value });
  return true;
}

function checkItems(items: readonly Item[], { scope }: ServicePlaceReference, prefix: string): void {
  const problems = new Problems();
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const at = `vars.${index}`;
    checkKey(item.name, prefix, problems, `${at}.name`);
    checkLength({ key: item.name, value: item.value, path: `${at}.value` }, problems);
    if (item.scope !== scope && item.scope !== 'ENVIRONMENT' && item.scope !== 'PROJECT') {
      problems.add(
        `${at}.scope`,
        `must be ${scope}, ENVIRONMENT or PROJECT: what is imported goes to the service or to what it is in`,
      );
    }
    const whole = `${item.scope} ${item.name}`;
    if (seen.has(whole)) problems.add(`${at}.name`, 'is in the list twice for this scope; keep one of them');
    seen.add(whole);
  }
  problems.throwIfAny();
}

function order(scope: VariableScope): number {
  return scope === 'PROJECT' ? 0 : scope === 'ENVIRONMENT' ? 1 : 2;
}

/** The service and what it is in, each held when it is first asked for. */
async function heldPlaces(
  room: VariableRoom,
  tx: Queryable,
  caller: Caller,
  reference: ServicePlaceReference,
): Promise<(scope: VariableScope) => Promise<VariablePlace>> {
  const service = await holdPlace(room, tx, caller, reference);
  const held = new Map<VariableScope, VariablePlace>([[reference.scope, service]]);
  return async (scope) => {
    const known = held.get(scope);
    if (known !== undefined) return known;
    const wide: PlaceReference =
      scope === 'PROJECT' ? { scope, id: service.projectId } : { scope: 'ENVIRONMENT', id: service.environmentId ?? '' };
    const place = await holdPlace(room, tx, caller, wide);
    held.set(scope, place);
    return place;
  };
}
