import type { CallAnswer, CallInput } from '@davit/client';
import { queryOptions, type QueryKey } from '@tanstack/react-query';
import { api } from '../api.ts';
import { digestOf, referencesOf, type Digest, type Seen } from './reference-graph.ts';
import type { Service, ServiceStatus } from '../words.ts';
import { linksIn, queries } from './queries.ts';

/** Reads under way at the same time: a browser opens six connections to a host, one of which the stream has. */
const atOnce = 4;

type Query = CallInput<'listVariables'>['query'];

/** Returns a function that keeps the former data of a query while it is read again, if they are of this environment. */
export function keptIn(environmentId: string) {
  return <Data>(before: Data | undefined, query: { readonly queryKey: QueryKey } | undefined): Data | undefined =>
    query?.queryKey[1] === environmentId ? before : undefined;
}

/** Milliseconds for which the digest of a service counts while nothing says that its variables were changed. */
const longestAge = 300_000;

/** A service with variables of its own, and what changes when these may have been changed. */
export interface Referrer {
  readonly id: string;
  readonly scope: Exclude<Service['service_type'], 'DATABASE'>;
  readonly version: string;
}

type Named = Pick<Service, 'id' | 'name'>;
type Versioned = Pick<Service, 'id' | 'service_type' | 'updated_at'>;
type Status = Pick<ServiceStatus, 'id' | 'service_deployment_status'>;

/** Returns the services with variables of their own. An edit or a deployment changes their versions. */
export function referrersOf(services: readonly Versioned[], statuses: readonly Status[]): Referrer[] {
  const byId = new Map(statuses.map((status) => [status.id, status.service_deployment_status]));
  return services.flatMap(({ id, service_type: scope, updated_at: at = '' }) =>
    scope === 'DATABASE' ? [] : [{ id, scope, version: `${id} ${at} ${byId.get(id) ?? ''}` }],
  );
}

interface Kept {
  readonly version: string;
  /** The variables of the environment, by which those of the service were understood. */
  readonly shared: string;
  readonly digest: Digest;
}

/**
 * Reads the variables of a service, and keeps the part that decides about its references. They are read again only if
 * it or the variables of the environment changed since, or after some minutes: a second edit of a service that is out
 * of date already has no sign.
 */
const digestIn = (environmentId: string, { id, scope, version }: Referrer, shared: string) =>
  queryOptions<Kept>({
    queryKey: ['referenceDigest', environmentId, id],
    gcTime: 6 * longestAge,
    staleTime: ({ state: { data } }) => (data?.version === version && data.shared === shared ? longestAge : 0),
    queryFn: async ({ signal }) => {
      const variables = await read({ parent_id: id, scope }, signal);
      return { version, shared, digest: digestOf({ serviceId: id, variables }) };
    },
  });

async function read(query: Query, signal: AbortSignal): Promise<Seen['variables']> {
  return (await api().call('listVariables', { query, signal })).results;
}

/** Which services of an environment refer to which. No operation lists the variables of several services at once. */
export const referencesIn = (environmentId: string, services: readonly Named[], referrers: readonly Referrer[]) =>
  queryOptions({
    queryKey: ['references', environmentId, services.map(({ id }) => id), referrers.map(({ version }) => version)],
    staleTime: 60_000,
    // A service that is added or removed leaves the other arrows where they are; those of another environment go.
    placeholderData: keptIn(environmentId),
    queryFn: async ({ signal }) => {
      const links = await queries.ensureQueryData(linksIn(environmentId));
      const variables = await read({ parent_id: environmentId, scope: 'ENVIRONMENT' }, signal);
      const shared = variables.map(({ id, updated_at: at }) => `${id} ${at ?? ''}`).join(' ');
      const digests: Digest[] = [];
      const left = referrers.values();
      const work = async (): Promise<void> => {
        for (const referrer of left) {
          signal.throwIfAborted();
          // oxlint-disable-next-line no-await-in-loop -- each of a few workers reads one after the other
          digests.push((await queries.fetchQuery(digestIn(environmentId, referrer, shared))).digest);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      digests.push(digestOf({ serviceId: null, variables }));
      const byName = new Map(services.map(({ id, name }) => [name.toLowerCase(), id]));
      return referencesOf(digests, { publicly: hostsOf(links), byName });
    },
  });

/** Returns the hosts of public addresses with their services. */
function hostsOf(links: CallAnswer<'listEnvironmentServicesLinks'>['results']): Map<string, string> {
  return new Map(links.flatMap(({ url, service_id: id }) => (URL.canParse(url) ? [[new URL(url).hostname, id] as const] : [])));
}
