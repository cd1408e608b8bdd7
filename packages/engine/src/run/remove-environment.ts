import { messageOf, retry } from '@davit/base';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import type { EngineParts } from '../shared/parts.ts';
import { isDatabaseUnreachable, isTransient, retryPolicy } from '../shared/retry-policy.ts';
import type { ClaimedDeployment } from '../store/journal.ts';
import type { ClusterWait } from './cluster-wait.ts';
import type { DeploymentLog } from './deployment-log.ts';
import { LeaseLost } from './journal.ts';

interface RemoveInput {
  readonly parts: EngineParts;
  readonly deployment: ClaimedDeployment;
  readonly log: DeploymentLog;
  readonly wait: ClusterWait;
  readonly abandon: AbortSignal;
}

/**
 * Removes what the cluster has of the environment besides its services.
 * - If the cluster is still unreachable after the wait, the remains stay there, and the log says so.
 * - If the cluster refuses, returns the refusal. The environment then stays, and another request for its deletion tries
 *   again.
 * - Otherwise returns null.
 * Throws errors that end the run for now.
 */
export async function removeEnvironment({ parts, deployment, log, wait, abandon }: RemoveInput): Promise<unknown> {
  const report = (message: string): void => log.add('remove', message);
  try {
    await retry(
      {
        ...retryPolicy(parts.settings),
        signal: abandon,
        isRetryable: (error) => isTransient(error) && !abandon.aborted,
        onRetry: (error) => report(`${messageOf(error)}; trying again.`),
      },
      async () =>
        parts.drivers[deployment.driver]?.cluster.removeEnvironment(deployment.environment_id, { signal: abandon, log: report }),
    );
    return null;
  } catch (error) {
    if (error instanceof LeaseLost || abandon.aborted || isDatabaseUnreachable(error)) throw error;
    if (!(error instanceof ClusterUnreachable)) return error;
    if (await wait.begin(error)) throw error;
    log.add('remove', `${error.message}. What it holds of the environment stays there.`, { level: 'WARNING' });
    return null;
  }
}
