import { AppError, isAppError } from '@davit/base';
import type { operations, Response } from '@davit/contract';
import type { ClusterState } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { errorLink } from '../shared/engine-views.ts';
import { changeCluster, findCluster, isLocal, openCluster, type ClusterIds } from './cluster-ids.ts';
import { isConnected, statusOf, type ClusterStatus } from './status.ts';
import * as store from './store.ts';

type ClusterLogs = Response<(typeof operations)['listClusterLogs']>;

/** Number of the newest lines of a cluster's log that are kept. */
const keptLines = 500;

/**
 * Deploys a cluster. Davit does not install clusters, so it checks whether the cluster is reachable and grants the
 * permissions that Davit needs. The result is in the status and the log. A dry run only checks.
 *
 * Two kinds of cluster are refused. The log records the refusal, and the state stays READY:
 * - a managed cluster, with CLUSTER_NOT_PROVISIONABLE
 * - a cluster without a kubeconfig, with CLUSTER_NOT_DEPLOYED
 *
 * Also fails with NOT_FOUND or CLUSTER_LOCKED.
 */
export async function deployCluster(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  ids: ClusterIds,
  isDryRun: boolean,
): Promise<ClusterStatus> {
  const row = await deps.database.transaction(async (tx) => changeCluster(tx, caller, ids));
  if (!isConnected(deps, row)) {
    const refused = refusalOf(deps, row);
    if (!isDryRun)
      await addLog(deps, row, refused.message, { tag: refused.code, hint: 'Deploy on the cluster Local meanwhile.' });
    throw refused;
  }
  const state = await deps.engine.checkCluster(row.driver);
  if (isDryRun) return statusOf(deps, row, state);
  const { deployed_at } = await deps.database.transaction(async (tx) => {
    await changeCluster(tx, caller, ids);
    return tx.one(store.clusterDeployed, [row.id]);
  });
  const { message, error } = outcomeOf(row, state);
  await addLog(deps, row, message, error);
  return statusOf(deps, { ...row, deployed_at }, state);
}

function refusalOf(deps: Needs<'engine'>, row: store.ClusterRow): AppError {
  if (row.kubernetes === 'MANAGED' || !deps.engine.connectsClusters) return notProvisionable(row);
  return new AppError({
    code: 'CLUSTER_NOT_DEPLOYED',
    message: `The cluster ${row.name} has no kubeconfig yet. Store one with PUT /organization/${row.organization_id}/cluster/${row.id}/kubeconfig.`,
  });
}

function outcomeOf(row: store.ClusterRow, { facts, failure, missingPermissions, upgrade }: ClusterState) {
  const what = isLocal(row) ? 'The container engine' : 'The cluster';
  if (missingPermissions.length > 0) {
    const message = `${what} answers, but does not permit everything that Davit needs: ${missingPermissions.join(', ')}.`;
    return { message, error: { tag: 'CLUSTER_ACCESS_DENIED', hint: 'Grant the account of the kubeconfig these permissions.' } };
  }
  if (facts === null) {
    const hint = isLocal(row) ? 'Start Docker or Podman on this machine; `davit doctor` looks for them.' : (failure?.hint ?? '');
    const message = isLocal(row)
      ? `${what} of this machine does not answer.`
      : `${(failure?.message ?? 'the reason is not known').replace(/\.$/, '')}.`;
    return { message, error: { tag: failure?.code ?? 'ENGINE_UNREACHABLE', hint } };
  }
  if (upgrade !== null && upgrade.failure !== null)
    return {
      message: `The upgrade to ${upgrade.underWay} is stuck: ${upgrade.failure}`,
      error: { tag: 'ENGINE_FAILED', hint: 'Check the Plans and Jobs in the namespace system-upgrade of the cluster.' },
    };
  const has = `${facts.cpuMillicores} millicores, ${facts.memoryMiB} MiB`;
  return { message: `${what} answers: ${facts.engine} ${facts.version}, ${has}.`, error: null };
}

function notProvisionable({ name, kubernetes, cloud_provider }: store.ClusterRow): AppError {
  return new AppError({
    code: 'CLUSTER_NOT_PROVISIONABLE',
    message:
      `The cluster ${name} (${cloud_provider}, ${kubernetes}) cannot be deployed: this version of Davit does not ` +
      'install Kubernetes. The record stays as it is; put environments on the cluster Local, or on a self-managed one.',
  });
}

/**
 * Always fails, because no deployed cluster may be stopped: with NOT_FOUND, CLUSTER_LOCKED, CLUSTER_KIND_UNSUPPORTED or
 * CLUSTER_NOT_DEPLOYED.
 */
export async function stopCluster(deps: Needs<'database' | 'engine'>, caller: Caller, ids: ClusterIds): Promise<never> {
  const row = await deps.database.transaction(async (tx) => changeCluster(tx, caller, ids));
  if (!isConnected(deps, row)) throw notDeployed(row, 'there is nothing to stop');
  throw unsupported(
    `The cluster ${row.name} is ${kindWords(row)}, which Davit did not start and does not stop. Stop its environments instead.`,
  );
}

/**
 * Starts the upgrade of a cluster to its `next_k8s_available_version`. Does nothing if that upgrade is already in
 * progress. The status shows when the upgrade has ended. Fails with NOT_FOUND, CLUSTER_LOCKED, CLUSTER_NOT_DEPLOYED,
 * CLUSTER_UNREACHABLE or REMOTE_REFUSED, and with CLUSTER_KIND_UNSUPPORTED if there is no means of upgrading the
 * cluster or no newer version.
 */
export async function upgradeCluster(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  clusterId: string,
): Promise<ClusterStatus> {
  const ids = await findCluster(deps.database, caller, clusterId);
  const row = await deps.database.transaction(async (tx) => changeCluster(tx, caller, ids));
  if (!isConnected(deps, row)) throw notDeployed(row, 'there is nothing to upgrade');
  const state = await deps.engine.checkCluster(row.driver);
  // If the upgrade in progress targets another version than the one set now, it is redirected to the new version.
  if (state.upgrade !== null && state.upgrade.underWay !== null && state.upgrade.next === null) return statusOf(deps, row, state);
  const version = nextVersion(row, state);
  try {
    await deps.engine.upgradeCluster(row.driver, version);
  } catch (error) {
    if (isAppError(error)) {
      const message = `The upgrade to ${version} could not be started.`;
      await addLog(deps, row, message, { tag: error.code, hint: error.message });
    }
    throw error;
  }
  await addLog(deps, row, `The cluster is being upgraded from ${state.facts?.version} to ${version}, one node at a time.`, null);
  return statusOf(deps, row, await deps.engine.checkCluster(row.driver));
}

function nextVersion(row: store.ClusterRow, { facts, failure, missingPermissions, upgrade }: ClusterState): string {
  const unsupportedHere = (why: string): AppError => unsupported(`The cluster ${row.name} cannot be upgraded by Davit: ${why}`);
  if (isLocal(row))
    throw unsupportedHere("it is the container engine of this machine. Upgrade the engine with the machine's packages.");
  if (facts === null) {
    const lacking = missingPermissions.length > 0 ? `Davit lacks permissions there: ${missingPermissions.join(', ')}` : null;
    throw new AppError({
      code: 'CLUSTER_UNREACHABLE',
      message: `The cluster ${row.name} cannot be upgraded now: ${failure?.message ?? lacking ?? 'it does not answer'}`,
    });
  }
  if (upgrade === null)
    throw unsupportedHere(
      'Davit did not install it. Upgrade it where it was installed; Davit keeps working meanwhile. Davit upgrades a cluster with a ' +
        'system-upgrade-controller once its operator has set kubernetes_version for it.',
    );
  if (upgrade.hindrance !== null) throw unsupportedHere(upgrade.hindrance);
  if (upgrade.next === null) throw unsupportedHere(`it has ${facts.version} already, the version that its operator has set.`);
  return upgrade.next;
}

function kindWords(row: store.ClusterRow): string {
  return isLocal(row) ? 'the container engine of this machine' : "its owner's own";
}

/** Fails with CLUSTER_NOT_DEPLOYED unless services can be deployed on the cluster. */
export function checkDeployed(cluster: { readonly driver: string; readonly name: string; readonly has_access: boolean }): void {
  if (isLocal(cluster) || cluster.has_access) return;
  throw notDeployed(cluster, 'nothing can be deployed on it');
}

export function unsupported(message: string): AppError {
  return new AppError({ code: 'CLUSTER_KIND_UNSUPPORTED', message });
}

export function notDeployed({ name }: { readonly name: string }, consequence: string): AppError {
  return new AppError({
    code: 'CLUSTER_NOT_DEPLOYED',
    message: `The cluster ${name} is recorded, but Davit cannot reach it: ${consequence}. Give it a kubeconfig, if it is self-managed, or use the cluster Local.`,
  });
}

export async function listLogs(deps: Needs<'database'>, caller: Caller, ids: ClusterIds): Promise<ClusterLogs> {
  const row = await openCluster(deps.database, caller, ids);
  const lines = await deps.database.many(store.logList, [row.id]);
  return { results: lines.map((line) => toLog(row, line)) };
}

async function addLog(
  deps: Needs<'database'>,
  { id }: store.ClusterRow,
  message: string,
  error: store.LogRow['error'],
): Promise<void> {
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
