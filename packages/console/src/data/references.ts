import type { CallAnswer, CallInput } from '@davit/client';
import { queryOptions, type QueryKey } from '@tanstack/react-query';
import { api } from '../api.ts';
import { referencesOf, type Seen } from './reference-graph.ts';
import type { Service } from '../words.ts';
import { linksIn, queries } from './queries.ts';

/** Reads under way at the same time: a browser opens six connections to a host, one of which the stream has. */
const atOnce = 4;

type Query = CallInput<'listVariables'>['query'];

/** Returns a function that keeps the former data of a query while it is read again, if they are of this environment. */
export function keptIn(environmentId: string) {
  return <Data>(before: Data | undefined, query: { readonly queryKey: QueryKey } | undefined): Data | undefined =>
    query?.queryKey[1] === environmentId ? before : undefined;
}

/** Which services of an environment refer to which. The variables of each service are one read. */
export const referencesIn = (environmentId: string, services: readonly Service[]) =>
  queryOptions({
    queryKey: ['references', environmentId, services.map(({ id }) => id)],
    // Two hundred reads each time that somebody comes back to the tab would be too much for what seldom changes.
    staleTime: 60_000,
    // A service that is added or removed leaves the other arrows where they are; those of another environment go.
    placeholderData: keptIn(environmentId),
    queryFn: async ({ signal }) => {
      const wanted: { readonly serviceId: string | null; readonly query: Query }[] = [
        { serviceId: null, query: { parent_id: environmentId, scope: 'ENVIRONMENT' } },
      ];
      for (const { id, service_type: scope } of services) {
        // A database has no variables of its own.
        if (scope !== 'DATABASE') wanted.push({ serviceId: id, query: { parent_id: id, scope } });
      }
      const links = await queries.ensureQueryData(linksIn(environmentId));
      const seen: Seen[] = [];
      const left = wanted.values();
      const work = async (): Promise<void> => {
        for (const { serviceId, query } of left) {
          // oxlint-disable-next-line no-await-in-loop -- each of a few workers reads one after the other
          seen.push({ serviceId, variables: (await api().call('listVariables', { query, signal })).results });
        }
      };
      await Promise.all(Array.from({ length: atOnce }, work));
      const byName = new Map(services.map(({ id, name }) => [name.toLowerCase(), id]));
      return referencesOf(seen, { publicly: hostsOf(links), byName });
    },
  });

/** Returns the hosts of public addresses with their services. */
function hostsOf(links: CallAnswer<'listEnvironmentServicesLinks'>['results']): Map<string, string> {
  return new Map(links.flatMap(({ url, service_id: id }) => (URL.canParse(url) ? [[new URL(url).hostname, id] as const] : [])));
}
