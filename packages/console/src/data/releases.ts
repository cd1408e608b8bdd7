import type { CallAnswer } from '@davit/client';
import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import type { Service } from '../words.ts';

export type Comparison = CallAnswer<'compareServiceReleases'>;
export type ReleaseChange = Comparison['changes'][number];

interface Between {
  /** The earlier release. Left out: the one with which the service worked before `to`, or the deployed one. */
  readonly from?: string | undefined;
  /** The later release. Left out: the settings as they are now. */
  readonly to?: string | undefined;
}

/** The settings that differ between two releases of a service. Values of secrets are not among them. */
export const comparisonOf = ({ id, environment }: Service, { from, to }: Between) =>
  queryOptions({
    queryKey: ['comparison', environment.id, id, from ?? '', to ?? ''],
    queryFn: ({ signal }) =>
      api().call('compareServiceReleases', {
        params: { serviceId: id },
        query: { ...(from !== undefined && { from }), ...(to !== undefined && { to }) },
        signal,
      }),
    // Settings may change at any time; releases never do.
    staleTime: to === undefined ? 0 : Infinity,
  });
