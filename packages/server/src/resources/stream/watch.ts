import type { StreamKind } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import { mayReadIn } from '../../auth/custom-role.ts';
import type { EventRow } from './store.ts';

/** What a stream is about. */
export interface Watch {
  readonly organizationId: string;
  readonly kinds: ReadonlySet<StreamKind>;
  readonly projectId?: string;
  readonly environmentIds?: readonly string[];
  readonly serviceIds?: readonly string[];
  readonly deploymentId?: string;
  /** It begins with what the log has already. */
  readonly log?: WatchedLog;
}

export type WatchedLog =
  | { readonly kind: 'SERVICE_LOG'; readonly place: WatchedPlace; readonly tail: number }
  | { readonly kind: 'DEPLOYMENT_LOG'; readonly place: WatchedPlace };

export interface WatchedPlace {
  readonly projectId: string;
  readonly environmentId: string;
}

/** What changes the state of an environment. */
const ofEnvironment: readonly StreamKind[] = ['SERVICE_STATE', 'DEPLOYMENT', 'QUEUE'];

/** Whether a watch tells the states of environments: not where it is about services. */
export function tellsEnvironments({ kinds, serviceIds }: Watch): boolean {
  return kinds.has('ENVIRONMENT_STATE') && serviceIds === undefined;
}

/** The kinds of rows that are needed for it. */
export function neededKinds(watch: Watch): StreamKind[] {
  return [...new Set([...watch.kinds, ...(tellsEnvironments(watch) ? ofEnvironment : [])])];
}

export function changesEnvironment({ kind }: EventRow): boolean {
  return ofEnvironment.includes(kind);
}

/** Whether the event is what the watch is about, and the caller may see it. Kinds do not count yet. */
export function concerns(watch: Watch, caller: Caller, row: EventRow): boolean {
  const { organizationId, projectId, environmentIds, serviceIds, deploymentId } = watch;
  if (row.organization_id !== organizationId) return false;
  if (projectId !== undefined && row.project_id !== projectId) return false;
  if (environmentIds !== undefined && !environmentIds.includes(row.environment_id)) return false;
  // Lines of a deployment's log are of several services: each line tells its own.
  const isOfService = row.service_id !== null && serviceIds?.includes(row.service_id) === true;
  if (serviceIds !== undefined && !isOfService && row.kind !== 'DEPLOYMENT_LOG') return false;
  if (deploymentId !== undefined && row.deployment_id !== deploymentId) return false;
  return mayReadIn(caller, row.project_id, row.mode);
}
