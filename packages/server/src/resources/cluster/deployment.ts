import { AppError } from '@davit/base';
import type { operations, Response } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { errorLink } from '../shared/engine-views.ts';
import { changeCluster, findCluster, isLocal, openCluster, type ClusterPlace } from './place.ts';
import { descriptionOf, toStatus, type ClusterStatus } from './status.ts';
import * as store from './store.ts';

type ClusterLogs = Response<(typeof operations)['listClusterLogs']>;

/** Newest lines of a cluster's log that are kept. */
const keptLines = 500;

/**
 * Deploys a cluster. This machine's container engine is not Davit's to install: it is asked whether it answers, and the outcome
 * is in the status and the log. Kubernetes is refused with CLUSTER_NOT_PROVISIONABLE, which the log remembers; the state stays
 * READY. A dry run leaves no line. NOT_FOUND, CLUSTER_LOCKED.
 */
export async function deployCluster(deps: Deps, caller: Caller, place: ClusterPlace, isDryRun: boolean): Promise<ClusterStatus> {
  const row = await deps.database.transaction(async (tx) => changeCluster(tx, caller, place));
  if (!isLocal(row)) {
    const refused = notProvisionable(row);
    if (!isDryRun)
      await addLog(deps, row, refused.message, { tag: refused.code, hint: 'Deploy on the cluster Local meanwhile.' });
    throw refused;
  }
  const description = await descriptionOf(deps, row);
  if (!isDryRun && description !== null) {
    await addLog(deps, row, `The container engine answers: ${description.engine} ${description.version}.`, null);
  } else if (!isDryRun) {
    const hint = 'Start Docker or Podman on this machine; `davit doctor` looks for them.';
    await addLog(deps, row, 'The container engine of this machine does not answer.', { tag: 'ENGINE_UNREACHABLE', hint });
  }
  return toStatus(deps, row);
}

function notProvisionable({ name, kubernetes, cloud_provider }: store.ClusterRow): AppError {
  return new AppError({
    code: 'CLUSTER_NOT_PROVISIONABLE',
    message:
      `The cluster ${name} (${cloud_provider}, ${kubernetes}) cannot be deployed: this version of Davit does not work with ` +
      'Kubernetes yet. The record stays as it is; put environments on the cluster Local.',
  });
}

/** Always refused: nothing that is deployed may be stopped. NOT_FOUND, CLUSTER_LOCKED, CLUSTER_KIND_UNSUPPORTED, CLUSTER_NOT_DEPLOYED. */
export async function stopCluster(deps: Deps, caller: Caller, place: ClusterPlace): Promise<never> {
  const row = await deps.database.transaction(async (tx) => changeCluster(tx, caller, place));
  if (!isLocal(row)) throw notDeployed(row, 'there is nothing to stop');
  throw unsupported(
    `The cluster ${row.name} is the container engine of this machine, which Davit did not start and does not stop. Stop its environments instead.`,
  );
}

/** Always refused: there is no next version. NOT_FOUND, CLUSTER_LOCKED, CLUSTER_KIND_UNSUPPORTED, CLUSTER_NOT_DEPLOYED. */
export async function upgradeCluster(deps: Deps, caller: Caller, clusterId: string): Promise<never> {
  const place = await findCluster(deps.database, caller, clusterId);
  const row = await deps.database.transaction(async (tx) => changeCluster(tx, caller, place));
  if (!isLocal(row)) throw notDeployed(row, 'there is nothing to upgrade');
  throw unsupported(
    `The cluster ${row.name} is the container engine of this machine: it has no Kubernetes version. Upgrade the engine with the machine's packages.`,
  );
}

/** CLUSTER_NOT_DEPLOYED, unless services can be deployed on a cluster of this driver. */
export function checkDeployed(cluster: { readonly driver: string; readonly name: string }): void {
  if (isLocal(cluster)) return;
  throw notDeployed(cluster, 'nothing can be deployed on it');
}

export function unsupported(message: string): AppError {
  return new AppError({ code: 'CLUSTER_KIND_UNSUPPORTED', message });
}

export function notDeployed({ name }: { readonly name: string }, consequence: string): AppError {
  return new AppError({
    code: 'CLUSTER_NOT_DEPLOYED',
    message: `The cluster ${name} is recorded, but not deployed: ${consequence}. Use the cluster Local.`,
  });
}

export async function listLogs(deps: Deps, caller: Caller, place: ClusterPlace): Promise<ClusterLogs> {
  const row = await openCluster(deps.database, caller, place);
  const lines = await deps.database.many(store.logList, [row.id]);
  return { results: lines.map((line) => toLog(row, line)) };
}

async function addLog(deps: Deps, { id }: store.ClusterRow, message: string, error: store.LogRow['error']): Promise<void> {
  const step: store.LogRow['step'] = error === null ? 'Created' : 'CreateError';
  await deps.database.run(store.logAdd, [id, step, message, error === null ? null : JSON.stringify(error), keptLines]);
}

function toLog(row: store.ClusterRow, { step, message, error, at }: store.LogRow): ClusterLogs['results'][number] {
  const details = {
    provider_kind: row.cloud_provider,
    region: row.region,
    transmitter: { type: 'Cluster', id: row.id, name: row.name },
  };
  return {
    type: error === null ? 'info' : 'error',
    timestamp: at,
    step,
    message: { safe_message: message },
    ...(error === null
      ? {}
      : {
          error: {
            tag: error.tag,
            user_log_message: message,
            link: errorLink(error.tag),
            hint_message: error.hint,
            event_details: details,
          },
        }),
    details,
  };
}
