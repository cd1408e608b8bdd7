import type { CallInput } from '@davit/client';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';

/** The filter of the audit log, and the page of it, as the address has them. */
export interface AuditFilter {
  readonly type?: string;
  readonly target?: string;
  readonly origin?: string;
  readonly who?: string;
  readonly from?: string;
  readonly to?: string;
  /** Tokens of the pages: the older ones, or the newer ones. */
  readonly next?: string;
  readonly back?: string;
}

const names = ['type', 'target', 'origin', 'who', 'from', 'to', 'next', 'back'] as const;

/** Returns the filter in an address. */
export function auditFilterIn(search: Readonly<Record<string, unknown>>): AuditFilter {
  return Object.fromEntries(names.flatMap((name) => (typeof search[name] === 'string' ? [[name, search[name]]] : [])));
}

/** A page of the audit log. */
export const auditOf = (organizationId: string, filter: AuditFilter) =>
  queryOptions({
    queryKey: ['audit', organizationId, filter],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const { type, target, origin, who, from, to, next, back } = filter;
      const query = {
        pageSize: 30,
        ...(type !== undefined && { eventType: type }),
        ...(target !== undefined && { targetType: target }),
        ...(origin !== undefined && { origin }),
        ...(who !== undefined && { triggeredBy: who }),
        ...(from !== undefined && { fromTimestamp: startOf(from).toISOString() }),
        ...(to !== undefined && { toTimestamp: new Date(startOf(to).getTime() + dayMilliseconds).toISOString() }),
        ...(next !== undefined && { continueToken: next }),
        ...(back !== undefined && { stepBackToken: back }),
      };
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server refuses words of the address that are none
      const input = { params: { organizationId }, query, signal } as CallInput<'getOrganizationEvents'>;
      const { links, events, organization_max_limit_reached: isLimited } = await api().call('getOrganizationEvents', input);
      return {
        events,
        isLimited,
        next: tokenIn(links.next, 'continueToken'),
        previous: tokenIn(links.previous, 'stepBackToken'),
      };
    },
  });

const dayMilliseconds = 86_400_000;

/** Returns the beginning of a day in the reader's time zone; a text that is no date is left to the server. */
function startOf(day: string): Date {
  const date = new Date(`${day}T00:00:00`);
  return Number.isNaN(date.getTime()) ? new Date(0) : date;
}

/** Returns the token of another page in a link to it; null if there is none. */
export function tokenIn(link: string | undefined, name: string): string | null {
  return link === undefined ? null : new URL(link, location.origin).searchParams.get(name);
}
