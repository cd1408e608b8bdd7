import type { operations, Response } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { ConditionView, ReleaseConfig, ServiceOverview } from '@davit/engine/port';
import type { Needs } from '../../../../deps.ts';
import type { ReleaseSettings } from '../../release.ts';
import { namedServices, releasesMarks, type NamedService } from '../../store.ts';
import { typeWord } from '../history/history.ts';
import { securedHosts, toLinks } from '../link/link.ts';
import { currentServices, type CurrentService } from '../status/current.ts';
import { MarkedMemory } from '../../../shared/marked-memory.ts';
import { deploymentStatus } from '../status/record.ts';

type OverviewService = Response<(typeof operations)['getOrganizationOverview']>['results'][number]['services'][number];

export interface ServiceInOverview {
  readonly record: OverviewService;
  readonly isSkipped: boolean;
}

type Deps = Needs<'engine', keyof ReleaseSettings | 'gatewayHttpsPort'>;
type Ports = ReleaseConfig['ports'];

/** The part of a service's overview that stays the same as long as the marks of its environment do. */
interface Remembered {
  readonly record: Omit<OverviewService, 'addresses'>;
  readonly isSkipped: boolean;
  readonly ports: Ports;
}

const mostAddresses = 10;
const mostServices = 50_000;
/** By configuration, as the releases with which the services are compared. */
const memories = new WeakMap<object, MarkedMemory<readonly Remembered[]>>();

/**
 * Returns the overviews of the services of environments, by environment, in the order of deployment. Services are only
 * read in environments in which something has changed since the last call. A whole request for 1,000 services takes
 * 20 ms without a change, and 40 ms after an edit of one of them (bench, two busy cores).
 */
export async function serviceOverviews(
  deps: Deps,
  db: Queryable,
  environmentIds: readonly string[],
): Promise<ReadonlyMap<string, readonly ServiceInOverview[]>> {
  const remembered = await rememberedOf(deps, db, environmentIds);
  const all = [...remembered.values()].flat();
  const [conditions, secured] = await Promise.all([
    deps.engine.conditions(
      db,
      all.map(({ record }) => record.id),
    ),
    securedHosts(
      deps,
      db,
      all.map(({ ports }) => ports),
    ),
  ]);
  const settings = { ...deps.config, secured };
  const complete = ({ record, isSkipped, ports }: Remembered): ServiceInOverview => {
    const observed = (conditions.get(record.id) ?? []).map(toProblem);
    const links = ports.length === 0 ? [] : toLinks({ id: record.id, type: record.service_type }, ports, settings);
    const addresses = links.slice(0, mostAddresses).map(({ url }) => url);
    return { record: { ...record, addresses, problems: [...record.problems, ...observed] }, isSkipped };
  };
  return new Map([...remembered].map(([id, services]) => [id, services.map(complete)]));
}

async function rememberedOf(
  deps: Deps,
  db: Queryable,
  environmentIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Remembered[]>> {
  const memory = memories.get(deps.config) ?? new MarkedMemory(mostServices, (services) => services.length);
  memories.set(deps.config, memory);
  // Marks are read before what they stand for: a change in between is seen now, and read again with the next mark.
  const [releases, states] = await Promise.all([
    db.many(releasesMarks, [environmentIds]),
    deps.engine.stateMarks(db, environmentIds),
  ]);
  const marks = new Map(releases.map(({ id, mark }) => [id, `${mark} ${states.get(id) ?? ''}`]));
  const found = new Map<string, readonly Remembered[]>();
  for (const [id, mark] of marks) {
    const known = memory.get(id, mark);
    if (known !== undefined) found.set(id, known);
  }
  const changed = environmentIds.filter((id) => !found.has(id));
  if (changed.length === 0) return found;
  const read = await readServices(deps, db, changed);
  for (const id of changed) {
    const services = read.get(id) ?? [];
    memory.set(id, marks.get(id) ?? '', services);
    found.set(id, services);
  }
  return found;
}

async function readServices(
  deps: Deps,
  db: Queryable,
  environmentIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Remembered[]>> {
  const [{ rows, views, ports }, current] = await Promise.all([
    readRows(deps, db, environmentIds),
    readCurrent(deps, db, environmentIds),
  ]);
  const found = rows.flatMap((row, index) => {
    const [view, now] = [views[index], current.get(row.id)];
    // The service was created or deleted between two of the queries.
    if (view === undefined || now === undefined) return [];
    const service = {
      record: toRecord(row, view, now.hash),
      isSkipped: now.isSkipped,
      ports: ports.get(view.releaseId ?? '') ?? [],
    };
    return [{ environmentId: row.environment_id, service }];
  });
  const byEnvironment = Map.groupBy(found, ({ environmentId }) => environmentId);
  return new Map([...byEnvironment].map(([id, entries]) => [id, entries.map(({ service }) => service)]));
}

async function readRows(deps: Deps, db: Queryable, environmentIds: readonly string[]) {
  const rows = await db.many(namedServices, [environmentIds]);
  const views = await deps.engine.serviceOverviews(
    db,
    rows.map(({ id }) => id),
  );
  const ports = await deps.engine.portsOfReleases(
    db,
    views.flatMap(({ releaseId }) => releaseId ?? []),
  );
  return { rows, views, ports };
}

/** Reads one environment at a time, as an organization must not use all connections. */
async function readCurrent(
  deps: Deps,
  db: Queryable,
  environmentIds: readonly string[],
): Promise<ReadonlyMap<string, CurrentService>> {
  const current = new Map<string, CurrentService>();
  for (const id of environmentIds)
    for (const service of (await currentServices(deps, db, id)).services) current.set(service.id, service);
  return current;
}

function toRecord({ id, name, type, icon_uri }: NamedService, view: ServiceOverview, hash: string): Remembered['record'] {
  const { failure, lastDeploymentAt } = view;
  return {
    id,
    name,
    service_type: typeWord(type),
    icon_uri,
    state: view.state,
    deployment_status: deploymentStatus(view, hash),
    running_status: view.runningStatus,
    running_instances: view.runningInstances,
    wanted_instances: view.wantedInstances,
    last_deployment_at: lastDeploymentAt,
    problems: failure === null ? [] : [{ severity: 'ERROR', ...failure, since: lastDeploymentAt }],
  };
}

function toProblem({ severity, since, failure }: ConditionView): OverviewService['problems'][number] {
  return { severity, code: failure.code, message: failure.message, hint: failure.hint, since };
}
