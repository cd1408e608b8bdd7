import { ApiError, type CallAnswer } from '@davit/client';
import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import type { Service } from '../words.ts';

/** A change in the audit log. */
export type AuditEvent = CallAnswer<'getOrganizationEvents'>['events'][number];

const newest = 100;
const edits: readonly AuditEvent['event_type'][] = ['CREATE', 'UPDATE', 'DELETE', 'CLONE'];
const ofVariables: readonly AuditEvent['sub_target_type'][] = ['VARIABLE', 'SECRET'];

/**
 * The newest changes of the configuration of a service: of its own records, and of the variables of its environment and
 * project. null: the session may not read the audit log.
 */
export const configurationChangesOf = (service: Service, organizationId: string, projectId: string) =>
  queryOptions({
    queryKey: ['configurationChanges', service.environment.id, service.id],
    enabled: organizationId !== '' && projectId !== '',
    queryFn: async ({ signal }): Promise<readonly AuditEvent[] | null> => {
      const read = async (targetId: string) => {
        const query = { targetId, pageSize: newest };
        return (await api().call('getOrganizationEvents', { params: { organizationId }, query, signal })).events;
      };
      try {
        const [own, ...wider] = await Promise.all([read(service.id), read(service.environment.id), read(projectId)]);
        const inherited = wider.flat().filter(({ sub_target_type: sub }) => ofVariables.includes(sub));
        return [...own, ...inherited].filter(({ event_type: type }) => edits.includes(type));
      } catch (error) {
        if (error instanceof ApiError && error.status === 403) return null;
        throw error;
      }
    },
  });
