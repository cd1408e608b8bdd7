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
        ...(to !== undefined && { toTimestamp: startOf(to, 1).toISOString() }),
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

/**
 * Returns the beginning of a day in the reader's time zone, or of a day after it. Days are counted, not hours: a day on
 * which the clocks change has 23 or 25. A text that is no date is the beginning of 1970.
 */
export function startOf(day: string, daysLater = 0): Date {
  const date = new Date(`${day}T00:00:00`);
  if (Number.isNaN(date.getTime())) return new Date(0);
  date.setDate(date.getDate() + daysLater);
  return date;
}

/** Returns the token of another page in a link to it; null if there is none. */
export function tokenIn(link: string | undefined, name: string): string | null {
  return link === undefined ? null : new URL(link, location.origin).searchParams.get(name);
}
