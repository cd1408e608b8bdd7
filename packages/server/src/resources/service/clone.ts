import { randomUUID } from 'node:crypto';
import { isUuid } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { refuseTakenName } from '../shared/naming.ts';
import { relinker, type IdMap } from '../shared/relink.ts';
import { cloneSecrets, secretIdsAmong, type SecretCopy } from '../variable/index.ts';
import { claimPorts } from './host-ports.ts';
import { kindOf } from './kinds/index.ts';
import { isBeingDeleted } from './lock.ts';
import type { ServiceFacts } from './rows.ts';
import { hostPorts, type PortSpec } from './shapes/ports.ts';
import { freeHostPort, insertClone, shareEnvironmentFacts, stageForClone } from './store.ts';

/** The source and target environments of copied services. The stages of the target are copies too. */
export interface ServiceClone {
  readonly organizationId: string;
  readonly from: { readonly environmentId: string };
  readonly to: { readonly environmentId: string; readonly driver: string };
  readonly stages: IdMap;
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
interface Copying {
  readonly relink: (text: string) => string;
  /** Ids of secret values, mapped to the ids of their copies. */
  readonly secrets: IdMap;
}

/**
 * Members of a spec that are parts with ids of their own, or lists of such parts. Volumes and routes are named after
 * these ids, so copies need other ids.
 */
const ownParts = new Set(['ports', 'storage', 'autoscaling', 'scalers', 'trigger_authentication']);

/**
 * Copies the services of an environment, whatever their type, as their specs describe them fully. Services that are
 * being deleted are left out. Returns the ids of the copies by the ids of the originals.
 */
export async function cloneServices(
  deps: Needs<'engine' | 'vault', 'gatewayPort' | 'port'>,
  tx: Queryable,
  caller: Caller,
  clone: ServiceClone,
): Promise<IdMap> {
  const services: ServiceFacts[] = [];
  for (const facts of await tx.many(shareEnvironmentFacts, [clone.from.environmentId])) {
    if (!(await isBeingDeleted(deps, tx, facts))) services.push(facts);
  }
  const ids = new Map(services.map(({ id }) => [id, randomUUID()]));
  const relink = relinker(new Map([...ids, [clone.from.environmentId, clone.to.environmentId]]));
  for (const facts of services.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))) {
    await cloneService(deps, tx, caller, { clone, facts, id: ids.get(facts.id) ?? randomUUID(), relink });
  }
  return ids;
}

/**
 * Copies one service, under another name, into an environment of the same organization. The copy goes into the stage of
 * the same name if the environment has one. Returns the id of the copy. Fails with NAME_TAKEN or IN_USE.
 */
export async function cloneServiceTo(
  deps: Needs<'vault', 'gatewayPort' | 'port'>,
  tx: Queryable,
  caller: Caller,
  { facts, name, to }: { readonly facts: ServiceFacts; readonly name: string; readonly to: ServiceClone['to'] },
): Promise<{ readonly id: string; readonly relink: (text: string) => string }> {
  const id = randomUUID();
  const relink = relinker(new Map<string, string>([[facts.id, id]]).set(facts.environment_id, to.environmentId));
  const stages = new Map([[facts.stage_id, await stageFor(tx, facts, to.environmentId)]]);
  const clone = { organizationId: facts.organization_id, from: { environmentId: facts.environment_id }, to, stages };
  await refuseTakenName({ index: 'service_name', noun: 'service', name, where: 'in that environment' }, () =>
    cloneService(deps, tx, caller, { clone, facts: { ...facts, name }, id, relink }),
  );
  return { id, relink };
}

async function stageFor(tx: Queryable, facts: ServiceFacts, environmentId: string): Promise<string> {
  const { stageName } = kindOf(facts.type);
  const values = [environmentId, facts.stage_id, facts.stage_name, stageName];
  return (await tx.one(stageForClone, values)).id;
}

interface OneClone {
  readonly clone: ServiceClone;
  readonly facts: ServiceFacts;
  readonly id: string;
  readonly relink: (text: string) => string;
}

async function cloneService(
  deps: Needs<'vault', 'gatewayPort' | 'port'>,
  tx: Queryable,
  caller: Caller,
  one: OneClone,
): Promise<void> {
  const { clone, facts, id, relink } = one;
  // A spec is JSON, as its column has that type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const spec = facts.spec as unknown as Json;
  const secrets = (await secretIdsAmong(tx, uuidsIn(spec), facts)).map((from): SecretCopy => ({
    from,
    to: randomUUID(),
    serviceId: kindOf(facts.type).sharesSecrets === true ? null : id,
  }));
  const copying = { relink, secrets: new Map(secrets.map(({ from, to }) => [from, to])) };
  const copy = await withFreePorts(deps, tx, clone.to.driver, copyOf(spec, copying));
  await tx.run(insertClone, [
    id,
    clone.to.environmentId,
    clone.stages.get(facts.stage_id),
    facts.is_skipped,
    facts.type,
    facts.name,
    JSON.stringify(copy),
    clone.to.driver,
  ]);
  const ids = { organizationId: clone.organizationId, environmentId: clone.to.environmentId, relink };
  await cloneSecrets(deps, tx, ids, secrets);
  await claimPorts(tx, caller, { serviceId: id, driver: clone.to.driver, ports: portsOf(copy) });
}

function copyOf(value: Json, copying: Copying, isOwnPart = false): Json {
  if (typeof value === 'string') return copying.secrets.get(value) ?? copying.relink(value);
  if (Array.isArray(value)) return value.map((item) => copyOf(item, copying, isOwnPart));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isOwnPart && name === 'id' ? randomUUID() : copyOf(member, copying, ownParts.has(name)),
    ]),
  );
}

function uuidsIn(value: Json): string[] {
  if (typeof value === 'string') return isUuid(value) ? [value] : [];
  if (value === null || typeof value !== 'object') return [];
  return Object.values(value).flatMap(uuidsIn);
}

/**
 * Replaces ports of the machine that are in use. Each port of the machine belongs to one service, and the first service
 * keeps it: a copy on the same machine gets the next free port. The record of the copy shows the port.
 */
async function withFreePorts(
  deps: Needs<never, 'gatewayPort' | 'port'>,
  tx: Queryable,
  driver: string,
  spec: Json,
): Promise<Json> {
  const ports = portsOf(spec);
  const taken: number[] = [deps.config.gatewayPort, deps.config.port];
  const moved = [...ports];
  for (const { transport, port, index } of hostPorts(ports)) {
    const free = await tx.maybe(freeHostPort, [driver, transport, taken, port]);
    const former = moved[index];
    // No port is free from there on: claiming the port reports this.
    if (free === undefined || former === undefined) continue;
    taken.push(free.port);
    moved[index] = { ...former, external_port: free.port };
  }
  if (ports.length === 0 || spec === null || typeof spec !== 'object' || Array.isArray(spec)) return spec;
  return { ...spec, ports: moved.map((port) => ({ ...port })) };
}

function portsOf(spec: Json): readonly PortSpec[] {
  if (spec === null || typeof spec !== 'object' || Array.isArray(spec) || !Array.isArray(spec['ports'])) return [];
  // The ports have the form in which `toPorts` stored them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return spec['ports'] as unknown as PortSpec[];
}
