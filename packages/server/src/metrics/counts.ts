import type { DeploymentOutcome, EngineCounts, StepOutcome } from '@davit/engine/port';
import { Counter, Histogram, type Family } from './series.ts';

const stepEndsSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const actions = ['DEPLOY', 'RESTART', 'STOP', 'DELETE', 'UNINSTALL'];
const outcomes = ['SUCCEEDED', 'FAILED', 'CANCELED'];

/**
 * The outcome of an attempt to deliver an event to a webhook:
 * - DELIVERED: the receiver accepted the event.
 * - REFUSED: the receiver rejected the event with a status such as 400; the delivery is retried.
 * - FAILED: any other failure; the delivery is retried.
 * - GIVEN_UP: the last attempt failed.
 */
export type WebhookOutcome = 'DELIVERED' | 'REFUSED' | 'FAILED' | 'GIVEN_UP';
/** DONE: it succeeded; RETRIED: it failed and will be retried; FAILED: the last attempt failed. */
export type GitEventOutcome = 'DONE' | 'RETRIED' | 'FAILED';

/** Returns every combination of the values of two labels. */
const combined = (
  [first, firsts]: readonly [string, readonly string[]],
  [second, seconds]: readonly [string, readonly string[]],
): Record<string, string>[] => firsts.flatMap((one) => seconds.map((other) => ({ [first]: lower(one), [second]: lower(other) })));

function lower(word: string): string {
  return word.toLowerCase();
}

/** Counters of this process since its start. Labels are words from closed lists, so the number of series is bounded. */
export class PlatformCounts implements EngineCounts {
  readonly #deployments = new Counter(
    'davit_deployments_total',
    'Deployments that ended in this process, by action and outcome.',
    combined(['action', actions], ['outcome', outcomes]),
  );
  readonly #failures = new Counter(
    'davit_deployment_failures_total',
    'Deployments that failed in this process, by action and the error code of the first failure.',
  );
  readonly #takeovers = new Counter(
    'davit_deployment_takeovers_total',
    'Deployments that this process resumed: from a runner that died or whose lease expired, or after an interruption of its own.',
    ['RUNNER_DIED', 'LEASE_EXPIRED', 'INTERRUPTED'].map((reason) => ({ reason: lower(reason) })),
  );
  readonly #durations = new Histogram(
    'davit_step_duration_seconds',
    'Duration of steps of deployments in this process, retries included.',
    stepEndsSeconds,
  );
  readonly #steps = new Counter('davit_steps_total', 'Steps of deployments that ended in this process, by outcome.');
  readonly #repeats = new Counter(
    'davit_step_repeats_total',
    'Steps that were repeated: after a transient failure (retry), or because an earlier run had started them (resume).',
  );
  readonly #backups = new Counter(
    'davit_backups_total',
    'Backups of databases with their proof, and restores, that ended in this process.',
    combined(['work', ['BACKUP', 'RESTORE']], ['outcome', ['SUCCEEDED', 'FAILED']]),
  );
  readonly #backupFailures = new Counter(
    'davit_backup_failures_total',
    'Backups and restores that failed in this process, by error code.',
  );
  readonly #webhooks = new Counter(
    'davit_webhook_attempts_total',
    'Attempts of this process to deliver an event to a webhook.',
    ['DELIVERED', 'REFUSED', 'FAILED', 'GIVEN_UP'].map((outcome) => ({ outcome: lower(outcome) })),
  );
  readonly #gitEvents = new Counter(
    'davit_git_event_attempts_total',
    'Attempts of this process to process an event of a git host.',
    ['DONE', 'RETRIED', 'FAILED'].map((outcome) => ({ outcome: lower(outcome) })),
  );

  deploymentEnded({ action, outcome, cause }: { action: string; outcome: DeploymentOutcome; cause: string | null }): void {
    this.#deployments.add({ action: lower(action), outcome: lower(outcome) });
    if (outcome === 'FAILED') this.#failures.add({ action: lower(action), cause: cause ?? 'UNKNOWN' });
  }

  stepEnded({ step, outcome, seconds }: { step: string; outcome: StepOutcome; seconds: number }): void {
    this.#steps.add({ step, outcome: lower(outcome) });
    this.#durations.of({ step }).observe(seconds);
  }

  stepRepeated(step: string, reason: 'RETRY' | 'RESUME'): void {
    this.#repeats.add({ step, reason: lower(reason) });
  }

  deploymentTakenOver(reason: 'RUNNER_DIED' | 'LEASE_EXPIRED' | 'INTERRUPTED'): void {
    this.#takeovers.add({ reason: lower(reason) });
  }

  backupEnded({ work, cause }: { work: 'BACKUP' | 'RESTORE'; cause: string | null }): void {
    this.#backups.add({ work: lower(work), outcome: cause === null ? 'succeeded' : 'failed' });
    if (cause !== null) this.#backupFailures.add({ work: lower(work), cause });
  }

  webhookAttempted(outcome: WebhookOutcome): void {
    this.#webhooks.add({ outcome: lower(outcome) });
  }

  gitEventAttempted(outcome: GitEventOutcome): void {
    this.#gitEvents.add({ outcome: lower(outcome) });
  }

  families(): Family[] {
    return [
      this.#deployments.family,
      this.#failures.family,
      this.#takeovers.family,
      this.#durations.family,
      this.#steps.family,
      this.#repeats.family,
      this.#backups.family,
      this.#backupFailures.family,
      this.#webhooks.family,
      this.#gitEvents.family,
    ];
  }
}
