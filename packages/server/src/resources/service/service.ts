import { randomUUID } from 'node:crypto';
import type { Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ServiceDeps } from './deps.ts';
import { refuseTakenName, nameTaken } from '../shared/naming.ts';
import { invalidReference, notFound, Problems } from '../shared/problems.ts';
import { openEnvironment } from '../environment/index.ts';
import { insertSecretValue } from '../variable/index.ts';
import { capsOf } from './caps.ts';
import { readVisibleEnvironment } from './visible.ts';
import { isLocalDriver } from '../../local-driver.ts';
import { readGroups, shareGroups } from './groups.ts';
import { claimPorts, withAssignedPorts } from './host-ports.ts';
import { kindOf } from './kinds/index.ts';
import type { RecordSettings } from './kinds/kind.ts';
import type { Caps, SpecRules } from './spec.ts';
import { lockService, type ServiceReference } from './lock.ts';
import { namesOthers, referencesOf } from './references.ts';
import type { ChartDetails, RegistryDetails, ServiceFacts, ServiceRow } from './rows.ts';
import type { GroupsRequest } from './shapes/groups.ts';
import { hostPorts, type ReservedPorts } from './shapes/ports.ts';
import type { ServiceRecord } from './shapes/request.ts';
import * as store from './store.ts';

/** Returns one record. Runs one query, and one more if the service has groups. */
export async function readService(
  deps: Needs<'database' | 'engine', keyof RecordSettings>,
  caller: Caller,
  { id, type }: ServiceReference,
): Promise<ServiceRecord> {
  const row = await deps.database.batched(store.readService, [id, type, caller.organizationId]);
  if (row === undefined) throw notFound('service');
  return kindOf(type).record(
    row,
    await capsOf(deps.engine, row.driver),
    await readGroups(deps.database, [row.spec]),
    deps.config,
  );
}

/** The members that all create requests share; the kind handles the other members. */
export interface NewService extends GroupsRequest {
  readonly name: string;
}

interface NewServiceTarget {
  readonly environmentId: string;
  readonly type: string;
}

/**
 * Creates a service. Nothing runs before a deployment. Fails with NAME_TAKEN, IN_USE, BEING_DELETED, VALIDATION_FAILED
 * or INVALID_REFERENCE.
 */
export async function createService(
  deps: ServiceDeps,
  caller: Caller,
  input: NewServiceTarget,
  request: NewService,
): Promise<ServiceRecord> {
  const environment = await readVisibleEnvironment(deps.database, caller, input.environmentId);
  const { row, rules } = await newService(deps, environment, input, request);
  rules.problems.throwIfAny();
  if (rules.secrets.length === 0 && !hasReferences(row)) {
    const inserted = await deps.database.batched(store.insertService, insertValues(row));
    if (inserted !== undefined) return kindOf(row.type).record({ ...row, ...inserted }, rules.caps, undefined, deps.config);
    // The transaction finds the reason, or waits for the lock that made the insert give up.
  }
  return deps.database.transaction((tx) => insertWithReferences(deps, tx, caller, { row, rules, request }));
}

/** Inserts a service together with everything that it claims or references. Locks its environment. */
async function insertWithReferences(
  deps: ServiceDeps,
  tx: Queryable,
  caller: Caller,
  { row, rules, request }: ComposedService & { readonly request: NewService },
): Promise<ServiceRecord> {
  const { driver } = await openEnvironment(tx, caller, row.environment_id, 'change');
  const spec = await withAssignedPorts(deps, tx, { ...row, driver });
  const named = await shareNamed(tx, { ...row, spec });
  await shareGroups(tx, row.organization_id, request);
  const inserted = await tx.batched(store.insertService, insertValues({ ...row, spec }));
  // The environment is locked and is not being deleted, so that the name is the only reason.
  if (inserted === undefined) throw nameTaken({ noun: 'service', name: row.name, where });
  const created = { ...row, spec, ...inserted, ...named };
  await storeSecrets(deps, tx, created, rules.secrets);
  await claimPorts(tx, caller, { serviceId: row.id, driver, ports: kindOf(row.type).workload(spec).ports });
  return kindOf(row.type).record(created, rules.caps, await readGroups(tx, [spec]), deps.config);
}

type NewRow = Omit<ServiceRow, 'created_at' | 'updated_at'>;

interface ComposedService {
  readonly row: NewRow;
  readonly rules: NewRules;
}

async function newService(
  deps: ServiceDeps,
  environment: store.EnvironmentRow,
  { environmentId, type }: NewServiceTarget,
  request: NewService,
): Promise<ComposedService> {
  const rules = await specRules(deps, { driver: environment.driver, autoPreview: environment.auto_preview, isInstalled: false });
  const row = {
    id: randomUUID(),
    organization_id: environment.organization_id,
    environment_id: environmentId,
    type,
    name: request.name,
    spec: kindOf(type).create(request, rules),
    driver: environment.driver,
    git_token_name: null,
    registry: null,
    chart: null,
    deployed_commit: null,
  };
  return { row, rules };
}

function insertValues(row: NewRow): unknown[] {
  return [row.id, row.environment_id, row.type, row.name, JSON.stringify(row.spec), kindOf(row.type).stageName];
}

/**
 * Edits a service; omitted members stay. The edit affects the next deployment, and nothing that is running. Fails like
 * `createService`.
 */
export async function editService(
  deps: ServiceDeps,
  caller: Caller,
  reference: ServiceReference,
  request: Partial<NewService>,
): Promise<ServiceRecord> {
  return deps.database.transaction(async (tx) => {
    const facts = await lockService(deps, tx, caller, { ...reference, purpose: 'change' });
    const { row, caps } = await editLocked(deps, tx, caller, { facts, request });
    return kindOf(row.type).record(row, caps, await readGroups(tx, [row.spec]), deps.config);
  });
}

/** Edits a service that the transaction has locked. */
export async function editLocked(
  deps: ServiceDeps,
  tx: Queryable,
  caller: Caller,
  { facts, request }: { readonly facts: ServiceFacts; readonly request: Partial<NewService> },
): Promise<{ readonly row: ServiceFacts; readonly caps: Caps | null }> {
  const kind = kindOf(facts.type);
  const isInstalled = kind.mindsInstalled === true && (await deps.engine.isKnown(tx, facts.id));
  const rules = await specRules(deps, { driver: facts.driver, autoPreview: false, isInstalled });
  const edited = kind.edit(request, facts.spec, rules);
  rules.problems.throwIfAny();
  const spec = await withAssignedPorts(deps, tx, { ...facts, spec: edited });
  const named = await shareNamed(tx, { ...facts, spec });
  await shareGroups(tx, facts.organization_id, request);
  const name = request.name ?? facts.name;
  const written = await refuseTaken(name, () => tx.one(store.updateService, [facts.id, name, JSON.stringify(spec)]));
  await storeSecrets(deps, tx, facts, rules.secrets);
  await claimPorts(tx, caller, { serviceId: facts.id, driver: facts.driver, ports: kind.workload(spec).ports });
  return { row: { ...facts, ...written, ...named, name, spec }, caps: rules.caps };
}

/**
 * Returns a service as an edit would leave it, for a plan; writes nothing. The edit may only change a version: nothing
 * that the service references or claims is looked up. Fails with VALIDATION_FAILED.
 */
export async function withEdit(deps: ServiceDeps, facts: ServiceFacts, request: object): Promise<ServiceFacts> {
  const rules = await specRules(deps, { driver: facts.driver, autoPreview: false, isInstalled: false });
  const spec = kindOf(facts.type).edit(request, facts.spec, rules);
  rules.problems.throwIfAny();
  return { ...facts, spec };
}

/** Deletes the record and all its dependent rows. Idempotent. The service must have no resources on a cluster. */
export async function removeService(tx: Queryable, id: string): Promise<void> {
  await tx.run(store.deleteService, [id]);
}

interface NewSecret {
  readonly id: string;
  readonly text: string;
}

interface NewRules extends SpecRules {
  readonly secrets: readonly NewSecret[];
}

async function specRules(
  deps: ServiceDeps,
  { driver, autoPreview, isInstalled }: { driver: string; autoPreview: boolean; isInstalled: boolean },
): Promise<NewRules> {
  const secrets: NewSecret[] = [];
  return {
    databases: deps.databases,
    isInstalled,
    secrets,
    newSecret: (text) => {
      const id = randomUUID();
      secrets.push({ id, text });
      return id;
    },
    problems: new Problems(),
    caps: await capsOf(deps.engine, driver),
    reserved: reservedPorts(deps),
    allowLocalRepositories: deps.config.allowLocalRepositories,
    scalesByEvents: !isLocalDriver(driver),
    autoPreview,
  };
}

async function storeSecrets(deps: Needs<'vault'>, tx: Queryable, row: NewRow, secrets: readonly NewSecret[]): Promise<void> {
  const parents = kindOf(row.type).sharesSecrets === true ? [row.environment_id, null] : [null, row.id];
  for (const { id, text } of secrets) {
    const owner = [id, row.organization_id, null, ...parents];
    await tx.run(insertSecretValue, [...owner, deps.vault.seal(id, text), []]);
  }
}

function reservedPorts({ config }: Needs<never, 'gatewayHttpsPort' | 'gatewayPort' | 'port'>): ReservedPorts {
  return new Map([
    [config.gatewayPort, 'the gateway of Davit'],
    ...(config.gatewayHttpsPort === null ? [] : [[config.gatewayHttpsPort, 'the gateway of Davit, for HTTPS'] as const]),
    [config.port, 'the API of Davit'],
  ]);
}

/** Returns whether the service claims or references something shared, so that an insert alone is not enough. */
function hasReferences(row: NewRow): boolean {
  const { annotations_groups, labels_groups } = row.spec;
  const { ports } = kindOf(row.type).workload(row.spec);
  const hasGroups = annotations_groups !== undefined || labels_groups !== undefined;
  return hasGroups || hostPorts(ports).length > 0 || namesOthers(row.spec);
}

/** The organization's records that the spec references, by name, as shown by the service's record. */
type Named = Pick<ServiceRow, 'git_token_name' | 'registry' | 'chart'>;

/**
 * Locks these records until the transaction ends. Fails with INVALID_REFERENCE if the organization does not have one of
 * them.
 */
async function shareNamed(tx: Queryable, row: Pick<ServiceRow, 'organization_id' | 'type' | 'spec'>): Promise<Named> {
  const { gitTokenId, registryId, helmRepositoryId, valuesTokenId } = referencesOf(row.spec);
  const { docker = '', image = '' } = kindOf(row.type).requestPrefixes ?? {};
  const token = { organizationId: row.organization_id, id: gitTokenId, path: `${docker}git_repository.git_token_id` };
  const valuesToken = { ...token, id: valuesTokenId, path: 'values_override.file.git.git_repository.git_token_id' };
  return {
    git_token_name: await gitTokenName(tx, token),
    registry: registryId === null ? null : await registryDetails(tx, row.organization_id, registryId, image),
    chart:
      row.type === 'HELM'
        ? {
            repository: helmRepositoryId === null ? null : await chartRepository(tx, row.organization_id, helmRepositoryId),
            values_token_name: await gitTokenName(tx, valuesToken),
          }
        : null,
  };
}

interface NamedToken {
  readonly organizationId: string;
  readonly id: string | null;
  /** Path of the id in the request. */
  readonly path: string;
}

async function gitTokenName(db: Queryable, { organizationId, id, path }: NamedToken): Promise<string | null> {
  if (id === null) return null;
  const token = await db.maybe(store.readGitToken, [id, organizationId]);
  if (token !== undefined) return token.name;
  throw invalidReference(path, 'is not the id of a git token of this organization; create one first');
}

async function chartRepository(tx: Queryable, organizationId: string, id: string): Promise<ChartDetails['repository']> {
  const repository = await tx.maybe(store.shareHelmRepository, [id, organizationId]);
  if (repository !== undefined) return repository;
  throw invalidReference(
    'source.helm_repository.repository',
    'is not the id of a Helm repository of this organization; create one first',
  );
}

async function registryDetails(tx: Queryable, organizationId: string, id: string, location: string): Promise<RegistryDetails> {
  const registry = await tx.maybe(store.shareRegistry, [id, organizationId]);
  if (registry !== undefined) return registry;
  throw invalidReference(
    `${location}registry_id`,
    'is not the id of a container registry of this organization; create one first',
  );
}

const where = 'in this environment';

function refuseTaken<Result>(name: string, write: () => Promise<Result>): Promise<Result> {
  return refuseTakenName({ index: 'service_name', noun: 'service', name, where }, write);
}
