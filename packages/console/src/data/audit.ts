import type { CallAnswer } from '@davit/client';
import { infiniteQueryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import type { Service } from '../words.ts';
import { tokenIn } from './organization-audit.ts';
import { withoutRepetition } from './queries.ts';

/** A change in the audit log. */
export type AuditEvent = CallAnswer<'getOrganizationEvents'>['events'][number];

const edits: readonly AuditEvent['event_type'][] = ['CREATE', 'UPDATE', 'DELETE', 'CLONE'];
const ofVariables: readonly AuditEvent['sub_target_type'][] = ['VARIABLE', 'SECRET'];

/** Where a change that concerns a service is recorded: at the service itself, or at what its variables come from. */
export interface ChangesAt {
  readonly organizationId: string;
  readonly targetId: string;
  readonly isInherited: boolean;
}

/** The changes of the configuration at one record, newest first, by pages. */
export const configurationChangesOf = (service: Service, { organizationId, targetId, isInherited }: ChangesAt) =>
  infiniteQueryOptions({
    queryKey: ['configurationChanges', service.environment.id, service.id, targetId],
    enabled: organizationId !== '' && targetId !== '',
    initialPageParam: '',
    queryFn: async ({ signal, pageParam }) => {
      const query = { targetId, pageSize: 40, ...(pageParam !== '' && { continueToken: pageParam }) };
      return api().call('getOrganizationEvents', { params: { organizationId }, query, signal });
    },
    getNextPageParam: ({ links }) => tokenIn(links.next, 'continueToken') ?? undefined,
    select: ({ pages }): ReadChanges => {
      const all = withoutRepetition(
        pages.flatMap(({ events }) => events),
        ({ id }) => id,
      );
      const isShown = ({ event_type: type, sub_target_type: sub }: AuditEvent): boolean =>
        edits.includes(type) && (!isInherited || ofVariables.includes(sub));
      return { changes: all.filter(isShown), oldest: all.at(-1)?.timestamp };
    },
  });

interface ReadChanges {
  readonly changes: readonly AuditEvent[];
  /** When the oldest event was that was read, also if it is none of the changes. */
  readonly oldest: string | undefined;
}
