import { retry } from '@davit/base';
import { ClusterAway } from '../shared/cluster-drivers.ts';
import type { EngineParts } from '../shared/parts.ts';
import { isDatabaseAway, isPassing, retryPolicy } from '../shared/retry-policy.ts';
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
 * Removes what the cluster of a deletion has of the environment beside its services. One that stays away keeps it, and the log says so. Answers why
 * the cluster refuses, null where it does not: then the environment stays, and who asks for its deletion again tries again. Throws what ends the
 * run for now.
 */
export async function removeEnvironment({ parts, deployment, log, wait, abandon }: RemoveInput): Promise<unknown> {
  const tell = (message: string): void => log.add('remove', message);
  try {
    await retry(
      {
        ...retryPolicy(parts.settings),
        signal: abandon,
        isRetryable: (error) => isPassing(error) && !abandon.aborted,
        onRetry: (error) => tell(`${error instanceof Error ? error.message : String(error)}; trying again.`),
      },
      async () =>
        parts.drivers[deployment.driver]?.cluster.removeEnvironment(deployment.environment_id, { signal: abandon, log: tell }),
    );
    return null;
  } catch (error) {
    if (error instanceof LeaseLost || abandon.aborted || isDatabaseAway(error)) throw error;
    if (!(error instanceof ClusterAway)) return error;
    if (await wait.begin(error)) throw error;
    log.add('remove', `${error.message}. What it has of the environment stays there.`, { level: 'WARNING' });
    return null;
  }
}
