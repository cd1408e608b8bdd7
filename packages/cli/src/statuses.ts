import type { CallAnswer } from '@davit/client';
import type { ServiceType } from './location.ts';

type Statuses = CallAnswer<'getEnvironmentStatuses'>;
export type ServiceStatus = Statuses['applications'][number];

/** Returns the statuses of all services, with the kinds of these. */
export function statusesOf(
  lists: Omit<Statuses, 'environment'>,
): { readonly status: ServiceStatus; readonly type: ServiceType }[] {
  const of = (type: ServiceType, statuses: readonly ServiceStatus[]) => statuses.map((status) => ({ status, type }));
  return [
    ...of('DATABASE', lists.databases),
    ...of('TERRAFORM', lists.terraforms),
    ...of('HELM', lists.helms),
    ...of('JOB', lists.jobs),
    ...of('CONTAINER', lists.containers),
    ...of('APPLICATION', lists.applications),
  ];
}

/**
 * Returns the word about a service that matters most. A deployment that is under way or failed is more urgent than what
 * runs; otherwise what runs is.
 */
export function stateWord({ state, running_status: running }: ServiceStatus): string {
  if (running === null || running === undefined) return state;
  const isSettled = /^(DEPLOYED|RESTARTED|STOPPED|CANCELED|READY|DELETED)$/.test(state);
  const isTroubled = running === 'ERROR' || running === 'WARNING';
  return isSettled || (isTroubled && !state.endsWith('_ERROR')) ? running : state;
}
