import { collectImages } from '../housekeeping/built-images.ts';
import type { FailureRecord } from '../model.ts';
import { crashPoint } from '../shared/crash-point.ts';
import { toFailure } from '../shared/failure.ts';
import type { EngineParts } from '../shared/parts.ts';
import * as store from '../store/journal.ts';
import type { ClusterWait } from './cluster-wait.ts';
import type { DeploymentLog } from './deployment-log.ts';
import type { Journal } from './journal.ts';
import { isFailed, type TaskState } from './prepare.ts';
import { removeEnvironment } from './remove-environment.ts';

export interface DeploymentEndInput {
  readonly parts: EngineParts;
  readonly deployment: store.ClaimedDeployment;
  readonly resumed: boolean;
  readonly abandon: AbortSignal;
  readonly cancel: AbortSignal;
  readonly journal: Journal;
  readonly log: DeploymentLog;
  readonly wait: ClusterWait;
}

/** The end of one deployment: its outcome is stored, its environment removed, its images collected, its end counted. */
export class DeploymentEnd {
  readonly #input: DeploymentEndInput;
  /** Code of the first failure, or of the failure to remove the environment. */
  #firstCause: string | null = null;

  constructor(input: DeploymentEndInput) {
    this.#input = input;
  }

  noteCause(code: string): void {
    this.#firstCause ??= code;
  }

  /** Records the end of a deployment whose services have all ended, and removes its environment if it was deleted. */
  async finish(tasks: readonly TaskState[]): Promise<void> {
    const { deployment, parts, journal, log } = this.#input;
    const phases = tasks.map((member) => member.phase);
    const failed = tasks.some(isFailed);
    const canceled = this.#input.cancel.aborted && phases.some((phase) => phase === 'CANCELED');
    const outcome = failed ? 'FAILED' : canceled ? 'CANCELED' : 'SUCCEEDED';
    const isRemoval = deployment.action === 'DELETE' && deployment.whole_environment && outcome === 'SUCCEEDED';
    const removesEnvironment = isRemoval && (await this.#removeEnvironment());
    const status = isRemoval && !removesEnvironment ? 'FAILED' : outcome;
    if (deployment.action === 'DEPLOY') {
      const done = tasks.filter(({ phase }) => phase === 'SUCCEEDED').map(({ task }) => task.serviceId);
      await collectImages(
        parts,
        deployment.driver,
        { services: done },
        {
          signal: this.#input.abandon,
          log: (message) => log.add('collect', message),
        },
      );
    }
    await log.flush();
    await crashPoint('finish:before');
    await journal.transaction(async (tx) => {
      await journal.write(store.finishDeployment, [status], tx);
      await parts.hooks.deploymentEnded(tx, deployment.id, deployment.action, status);
      if (!removesEnvironment) return;
      await parts.hooks.environmentDeleted(tx, deployment.environment_id);
      await tx.run(store.removeDeployments, [deployment.environment_id]);
    });
    this.#count(status, tasks);
    // The process that had handed former instances over is gone. From now on they may be ended without that.
    if (this.#input.resumed) for (const { task } of tasks) parts.handover.handOver(task.driver, []);
    await crashPoint('finish:after');
  }

  #count(outcome: 'SUCCEEDED' | 'FAILED' | 'CANCELED', tasks: readonly TaskState[]): void {
    const { deployment, parts } = this.#input;
    // Failures from before this process resumed the deployment are stored in its rows.
    const cause = this.#firstCause ?? tasks.find(({ failureCode }) => failureCode !== null)?.failureCode ?? null;
    parts.counts.deploymentEnded({ action: deployment.action, outcome, cause: outcome === 'FAILED' ? cause : null });
  }

  /** Removes the environment. Returns whether it is removed. */
  async #removeEnvironment(): Promise<boolean> {
    const { deployment, log } = this.#input;
    const refusal = await removeEnvironment(this.#input);
    if (refusal === null) return true;
    const failure = shownFailure(refusal, { ...this.#input, reference: deployment.id });
    this.#firstCause ??= failure.code;
    log.add('end', `The environment could not be removed: ${failure.message}`, { level: 'ERROR', error: failure });
    return false;
  }

  /**
   * Fails all unfinished services, so that the environment is not blocked forever. The keeper removes the remaining
   * instances.
   */
  async giveUp(error: unknown, tasks: readonly TaskState[]): Promise<void> {
    const { deployment, parts, journal, log } = this.#input;
    const failure = shownFailure(error, { ...this.#input, reference: deployment.id });
    log.add('end', failure.message, { level: 'ERROR', error: failure });
    await log.flush();
    await journal.transaction(async (tx) => {
      await journal.writeAny(store.failServices, [JSON.stringify(failure)], tx);
      await journal.write(store.finishDeployment, ['FAILED'], tx);
      await parts.hooks.deploymentEnded(tx, deployment.id, deployment.action, 'FAILED');
    });
    this.#firstCause ??= failure.code;
    this.#count('FAILED', tasks);
  }
}

/** Returns a failure in the form that users may see. Logs it in full for operators if it is a fault of Davit. */
export function shownFailure(
  error: unknown,
  { parts, log, reference }: Pick<DeploymentEndInput, 'parts' | 'log'> & { readonly reference: string },
): FailureRecord {
  const failure = toFailure(error, reference);
  if (failure.code === 'INTERNAL') parts.log.error({ err: error, reference }, 'a step failed unexpectedly');
  return log.redacted(failure);
}
