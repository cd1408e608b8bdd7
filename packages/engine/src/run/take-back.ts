import { retry } from '@davit/base';
import { ClusterAway } from '../shared/cluster-drivers.ts';
import type { EngineParts } from '../shared/parts.ts';
import { isDatabaseAway } from '../shared/retry-policy.ts';
import { undoRollout, type StepContext } from '../steps/index.ts';
import type { ClaimedDeployment } from '../store/journal.ts';
import type { ClusterWait } from './cluster-wait.ts';
import { crashPoint } from './crash-point.ts';
import type { DeploymentLog } from './deployment-log.ts';
import { LeaseLost, type Journal } from './journal.ts';

// It may wait for pods. What does not come to an end must not hold up the environment for ever.
const mostMilliseconds = 1_800_000;
const chartAttempts = 4;

interface TakeBackInput {
  readonly parts: EngineParts;
  readonly deployment: ClaimedDeployment;
  readonly journal: Journal;
  readonly log: DeploymentLog;
  readonly wait: ClusterWait;
  readonly abandon: AbortSignal;
  readonly force: AbortSignal;
}

/**
 * Takes back what a deployment had started of a service. Answers what the user has to know where that could not be done; null: it was, or the
 * keeper does it. What of a chart is half done nobody else takes back, so it is tried again, and waits for a cluster that is away; after a kill
 * in the middle the next runner comes here again.
 */
export async function takeBack(
  task: StepContext['task'],
  { parts, deployment, journal, log, wait, abandon, force }: TakeBackInput,
): Promise<string | null> {
  const { serviceId, serviceType } = task;
  await crashPoint('undo:before');
  const isChart = serviceType === 'HELM';
  const signal = AbortSignal.any([abandon, AbortSignal.timeout(mostMilliseconds)]);
  const tell = (message: string): void => log.add('undo', message, { serviceId });
  const context: StepContext = { parts, deployment, task, journal, call: { signal, leave: abandon, force, log: tell } };
  try {
    await retry(
      {
        attempts: isChart ? chartAttempts : 1,
        firstPauseMilliseconds: 500,
        maximumPauseMilliseconds: 4_000,
        signal,
        isRetryable: (error) => !mustPass(error) && !(error instanceof ClusterAway) && !signal.aborted,
        onRetry: (error) => tell(`${textOf(error)}; trying again.`),
      },
      () => undoRollout(context),
    );
  } catch (error) {
    if (error instanceof LeaseLost || abandon.aborted || (isChart && mustPass(error))) throw error;
    if (isChart && error instanceof ClusterAway && (await wait.begin(error, serviceId, true))) throw error;
    // The failure that led here is what the user must see; what is left over of instances is removed by the keeper.
    const message = isChart
      ? `What was deployed before could not be brought back: ${textOf(error)}. The next deployment does that first`
      : `Cleaning up did not work at once: ${textOf(error)}`;
    log.add('undo', message, { serviceId, level: 'WARNING' });
    return isChart ? message : null;
  }
  await crashPoint('undo:after');
  return null;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Nothing that the user did: whoever takes the deployment up goes on from here. */
function mustPass(error: unknown): boolean {
  return error instanceof LeaseLost || isDatabaseAway(error);
}
