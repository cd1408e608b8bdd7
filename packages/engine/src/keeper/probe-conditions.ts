import type { Instance } from '@davit/drivers';
import { raiseCondition } from '../conditions/conditions.ts';
import { quietSeconds, severityOfEnd } from '../conditions/instance-end.ts';
import { steadySeconds, type EngineParts } from '../shared/parts.ts';
import { recentEnds } from '../store/instance-ends.ts';
import type { KeptService } from './kept-service.ts';
import type { ClusterSnapshot } from './observer.ts';

const livenessHint =
  'The evidence has the last attempts of the probe. Correct the process if it answers late or wrongly, or correct the liveness probe of the service.';
const readinessHint =
  'The instance gets no requests until the probe succeeds. The evidence has its last attempts: resolve what the process waits for, or correct the readiness probe of the service.';

/** The last attempts of the probe of an instance, newest last. */
export interface ProbeFailure {
  readonly instance: Instance;
  readonly attempts: readonly string[];
}

interface FailedLiveness {
  readonly others: number;
  readonly occurrences: 0 | 1;
  readonly pauseSeconds: number;
}

/**
 * Raises the condition of a failing liveness probe, before the instance is restarted.
 *
 * - `others`: number of other serving instances of the service.
 * - `occurrences`: 0 if another process counts the failure, or if it is already counted.
 * - `pauseSeconds`: seconds until the restart.
 */
export async function noteFailedLiveness(
  { database, settings, log }: EngineParts,
  { instance, attempts }: ProbeFailure,
  { others, occurrences, pauseSeconds }: FailedLiveness,
): Promise<void> {
  const now = new Date().toISOString();
  const when = pauseSeconds > 0 ? ` after ${Math.ceil(pauseSeconds)} s, because it has just been started` : '';
  try {
    const former = await database.many(recentEnds, [instance.service]);
    // The exit that the restart causes is not recorded yet.
    const recent = [{ instance_id: instance.id, ended_at: now, ends: 1 }, ...former];
    await raiseCondition(database, {
      serviceId: instance.service,
      rollout: instance.rollout,
      kind: 'LIVENESS',
      severity: severityOfEnd(instance.id, recent, others),
      failure: {
        code: 'PROBE_FAILED',
        message: `The liveness probe failed, and the instance is restarted${when}. ${attempts.at(-1) ?? ''}`.trim(),
        hint: livenessHint,
        evidence: { probe: attempts },
      },
      instance: instance.name,
      at: now,
      occurrences,
      clearAfterSeconds: quietSeconds(recent, steadySeconds(settings)),
    });
  } catch (error) {
    // The instance is restarted all the same.
    log.warn({ err: error, instance: instance.name }, 'the failure of a liveness probe could not be recorded');
  }
}

/**
 * Raises the condition of failing readiness probes for each service with such instances. The keeper clears the
 * condition when all instances are ready.
 */
export async function noteUnready(
  { database }: Pick<EngineParts, 'database'>,
  seen: ClusterSnapshot,
  unready: (runtime: KeptService) => readonly ProbeFailure[],
): Promise<void> {
  for (const runtime of seen.runtimes) {
    if (runtime.desired !== 'RUNNING' || runtime.rollout === null || seen.deploying.has(runtime.service_id)) continue;
    const [first, ...more] = unready(runtime);
    if (first === undefined) continue;
    const also = more.length === 0 ? '' : ` The same applies to ${more.length} more.`;
    await raiseCondition(database, {
      serviceId: runtime.service_id,
      rollout: runtime.rollout,
      kind: 'READINESS',
      severity: 'WARNING',
      failure: {
        code: 'PROBE_FAILED',
        message: `The readiness probe fails. ${first.attempts.at(-1) ?? ''}${also}`.trim(),
        hint: readinessHint,
        evidence: { probe: first.attempts },
      },
      instance: first.instance.name,
      at: new Date().toISOString(),
      occurrences: 0,
      clearAfterSeconds: 0,
    });
  }
}
