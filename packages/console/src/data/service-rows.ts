import type { CallAnswer } from '@davit/client';
import { useQuery, useQueryClient, type QueryState } from '@tanstack/react-query';
import { use, useMemo } from 'react';
import {
  isUnderWay,
  kindName,
  servicesOf,
  servicesOfStage,
  typeNames,
  type EnvironmentDetails,
  type RunningWord,
  type Service,
  type ServiceStatus,
  type ServiceType,
  type StateWord,
} from '../words.ts';
import { detailsOf, linksIn, servicesIn } from './queries.ts';
import { TreeContext, type EnvironmentNode, type ServiceNode } from './tree.ts';

/** A service of an environment in one line. All members are plain, so that a row is drawn again only if one changed. */
export interface ServiceRow {
  readonly id: string;
  readonly environmentId: string;
  readonly name: string;
  readonly type: ServiceType;
  readonly kind: string;
  readonly state: StateWord;
  readonly running: RunningWord | null;
  readonly isOutOfDate: boolean;
  /** Its worst problem; null: none is known. */
  readonly trouble: string | null;
  readonly hint: string;
  readonly isWarning: boolean;
  readonly url: string | null;
  readonly urls: number;
  readonly instances: number | null;
  readonly wanted: number | null;
  readonly deployedAt: string | null;
}

export interface StageRows {
  readonly id: string;
  /** null: not read yet. */
  readonly name: string | null;
  readonly rows: readonly ServiceRow[];
}

export interface ServicesByStage {
  /** undefined: not read yet. */
  readonly stages: readonly StageRows[] | undefined;
  readonly error: Error | null;
}

/** Returns the environment of the tree, if that is read already. */
export function useEnvironmentNode(environmentId: string): EnvironmentNode | undefined {
  const { projects } = use(TreeContext);
  return projects.flatMap(({ environments }) => environments).find(({ id }) => id === environmentId);
}

/**
 * Returns the states of an environment. The first answer is left out while it is read again and the overview has the
 * environment: it may be from before the stream began, and the overview from after that.
 */
export function useDetails(environmentId: string): {
  readonly data: EnvironmentDetails | undefined;
  /** The last answer, also if its states are old: its stages are those of now until the next answer says otherwise. */
  readonly last: EnvironmentDetails | undefined;
  readonly error: Error | null;
} {
  const queries = useQueryClient();
  const options = detailsOf(environmentId);
  const { data, error, isFetching } = useQuery(options);
  const isKnown = useEnvironmentNode(environmentId) !== undefined;
  const isOld = isFetching && isKnown && isFirstAndOld(queries.getQueryState(options.queryKey));
  return { data: isOld ? undefined : data, last: data, error: data === undefined ? error : null };
}

/** Returns whether the first answer was called old, rather than read again as somebody has come back to the page. */
export function isFirstAndOld(state: Pick<QueryState, 'dataUpdateCount' | 'isInvalidated'> | undefined): boolean {
  return state?.dataUpdateCount === 1 && state.isInvalidated;
}

/**
 * Returns the services of an environment by stage. Until the stages are read, they are what the overview has, which is
 * there at once after a click, and arrives earlier than the rest where there are many services.
 */
export function useServicesByStage(environmentId: string): ServicesByStage {
  const node = useEnvironmentNode(environmentId);
  const details = useDetails(environmentId);
  const services = useQuery(servicesIn(environmentId));
  const links = useQuery(linksIn(environmentId)).data;
  const error = details.error ?? (services.data === undefined ? services.error : null);
  const stages = useMemo(() => {
    const known = new Map(node?.services.map((one) => [one.id, rowOfNode(environmentId, one)]));
    if (details.data === undefined || (services.data === undefined && node === undefined)) {
      return details.last === undefined ? inOneStage(known) : byStages(details.last, known);
    }
    if (services.data === undefined && servicesOf(details.data).length === 0) return undefined;
    return whenKnown(stagesOf(details.data, known, services.data, links), details.data, services.data);
  }, [environmentId, node, details.data, details.last, services.data, links]);
  return { stages, error };
}

/** The number of rows from which they are shown before their stages are read, as waiting for these would be long. */
const manyRows = 100;

/** Returns the rows while no stage is known; undefined if there are few: they come together with their headings. */
export function inOneStage(known: ReadonlyMap<string, ServiceRow>): readonly StageRows[] | undefined {
  return known.size < manyRows ? undefined : [{ id: 'all', name: null, rows: [...known.values()] }];
}

/** Returns the rows below the stages that were read before them. A row of no stage is a new service: it comes last. */
export function byStages(
  { stages }: EnvironmentDetails,
  known: ReadonlyMap<string, ServiceRow>,
): readonly StageRows[] | undefined {
  if (known.size === 0) return undefined;
  const left = new Map(known);
  const found = stages.map((stage) => {
    const rows = servicesOfStage(stage).flatMap(({ id }) => left.get(id) ?? []);
    for (const { id } of rows) left.delete(id);
    return { id: stage.stage.id, name: stage.stage.name, rows };
  });
  const other = { id: 'all', name: null, rows: [...left.values()] };
  return [...found, other].filter(({ rows }) => rows.length > 0);
}

/**
 * Returns the stages; undefined if there are no rows although states or records have services: the other ones are from
 * before the first service was created, and are about to be read again.
 */
export function whenKnown(
  stages: readonly StageRows[],
  details: EnvironmentDetails,
  services: readonly Service[] = [],
): readonly StageRows[] | undefined {
  const isEmpty = servicesOf(details).length === 0 && services.length === 0;
  return stages.length === 0 && !isEmpty ? undefined : stages;
}

/** Returns why nothing can be done with the services of an environment; null if something can. */
export function emptyReason(details: EnvironmentDetails | undefined): string | null {
  if (details === undefined) return 'The states of the services are being read.';
  return servicesOf(details).length === 0 ? 'The environment has no services.' : null;
}

type Links = CallAnswer<'listEnvironmentServicesLinks'>['results'];

function stagesOf(
  details: EnvironmentDetails,
  known: ReadonlyMap<string, ServiceRow>,
  services: readonly Service[] | undefined,
  links: Links | undefined,
): StageRows[] {
  const records = new Map(services?.map((service) => [service.id, service]));
  const addresses = links === undefined ? undefined : Map.groupBy(links, ({ service_id: id }) => id);
  return details.stages.flatMap((stage) => {
    const rows = servicesOfStage(stage).flatMap((status) => {
      const record = records.get(status.id);
      const before = known.get(status.id);
      // A service that neither has is being created: its record follows.
      if (record === undefined && (services !== undefined || before === undefined)) return [];
      const named = record === undefined ? before : namesOf(record);
      if (named === undefined) return [];
      const urls = addresses === undefined ? before : urlsOf(addresses.get(status.id) ?? []);
      const { url, urls: count } = urls ?? { url: null, urls: 0 };
      return [{ ...named, ...factsOf(status), url, urls: count }];
    });
    return rows.length === 0 ? [] : [{ id: stage.stage.id, name: stage.stage.name, rows }];
  });
}

function namesOf(service: Service): Pick<ServiceRow, 'id' | 'environmentId' | 'name' | 'type' | 'kind'> {
  const { id, name, environment, service_type: type } = service;
  return { id, environmentId: environment.id, name, type, kind: kindName(service) };
}

function urlsOf(links: Links): Pick<ServiceRow, 'url' | 'urls'> {
  return { url: (links.find((one) => one.is_default) ?? links[0])?.url ?? null, urls: links.length };
}

type Facts = Omit<ServiceRow, 'id' | 'environmentId' | 'name' | 'type' | 'kind' | 'url' | 'urls'>;

function factsOf(status: ServiceStatus): Facts {
  const worst = troubleOf(status);
  return {
    state: status.state,
    running: status.running_status ?? null,
    isOutOfDate: status.service_deployment_status === 'OUT_OF_DATE' && worst?.isWarning !== false,
    trouble: worst?.message ?? null,
    hint: worst?.hint ?? '',
    isWarning: worst?.isWarning ?? false,
    instances: status.running_instances ?? null,
    wanted: status.wanted_instances ?? null,
    deployedAt: status.last_deployment_date ?? null,
  };
}

/** Returns the worst problem of a service; null if it has none, or is being deployed again. */
function troubleOf({
  state,
  failure,
  conditions = [],
}: ServiceStatus): { message: string; hint: string; isWarning: boolean } | null {
  if (failure !== null && failure !== undefined && !isUnderWay(state)) return { ...failure, isWarning: false };
  const worst = conditions.find(({ severity }) => severity === 'ERROR') ?? conditions[0];
  return worst === undefined ? null : { ...worst, isWarning: worst.severity !== 'ERROR' };
}

/** Returns a service as the overview has it: all but what its kind has of its own, as the version of a database. */
function rowOfNode(environmentId: string, node: ServiceNode): ServiceRow {
  const { id, name, type, state, running_status: running, instances, wanted, deployedAt, addresses, problems } = node;
  const worst = problems[0];
  const isWarning = worst?.severity === 'WARNING';
  return {
    id,
    environmentId,
    name,
    type,
    state,
    instances,
    wanted,
    deployedAt,
    isWarning,
    kind: typeNames[type],
    running: running ?? null,
    isOutOfDate: node.isOutOfDate && (worst === undefined || isWarning),
    trouble: worst?.message ?? null,
    hint: worst?.hint ?? '',
    url: addresses[0] ?? null,
    urls: addresses.length,
  };
}
