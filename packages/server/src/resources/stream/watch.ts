import type { StreamKind } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import { mayReadIn } from '../../auth/custom-role.ts';
import type { EventRow } from './store.ts';

/** The subject of a stream. */
export interface Watch {
  readonly organizationId: string;
  readonly kinds: ReadonlySet<StreamKind>;
  readonly projectId?: string;
  readonly environmentIds?: readonly string[];
  readonly serviceIds?: readonly string[];
  readonly deploymentId?: string;
  /** Log whose existing lines the stream begins with. */
  readonly log?: WatchedLog;
}

export type WatchedLog =
  | { readonly kind: 'SERVICE_LOG'; readonly environment: WatchedEnvironment; readonly tail: number }
  | { readonly kind: 'DEPLOYMENT_LOG'; readonly environment: WatchedEnvironment };

export interface WatchedEnvironment {
  readonly projectId: string;
  readonly environmentId: string;
}

/** Kinds of events that change the state of an environment. */
const ofEnvironment: readonly StreamKind[] = ['SERVICE_STATE', 'DEPLOYMENT', 'QUEUE'];

/** Returns whether a stream sends the states of environments. Streams about services do not. */
export function sendsEnvironmentStates({ kinds, serviceIds }: Watch): boolean {
  return kinds.has('ENVIRONMENT_STATE') && serviceIds === undefined;
}

/** Returns the kinds of rows that the stream needs. */
export function neededKinds(watch: Watch): StreamKind[] {
  return [...new Set([...watch.kinds, ...(sendsEnvironmentStates(watch) ? ofEnvironment : [])])];
}

export function changesEnvironment({ kind }: EventRow): boolean {
  return ofEnvironment.includes(kind);
}

/** Returns whether the event is a subject of the stream and visible to the caller. Does not check the kinds. */
export function concerns(watch: Watch, caller: Caller, row: EventRow): boolean {
  const { organizationId, projectId, environmentIds, serviceIds, deploymentId } = watch;
  if (row.organization_id !== organizationId) return false;
  if (projectId !== undefined && row.project_id !== projectId) return false;
  if (environmentIds !== undefined && !environmentIds.includes(row.environment_id)) return false;
  // The lines of a deployment's log belong to several services: each line names its own.
  const isOfService = row.service_id !== null && serviceIds?.includes(row.service_id) === true;
  if (serviceIds !== undefined && !isOfService && row.kind !== 'DEPLOYMENT_LOG') return false;
  if (deploymentId !== undefined && row.deployment_id !== deploymentId) return false;
  return mayReadIn(caller, row.project_id, row.mode);
}
