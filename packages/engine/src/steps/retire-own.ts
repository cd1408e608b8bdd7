import { DriverError, type CallContext } from '@davit/drivers';
import { needsHalt } from '../workload/needs-halt.ts';
import { driverSet, type StepContext } from './step.ts';

const undoGraceSeconds = 2;
/** Seconds beyond their grace period to wait for removed instances. */
const goneWithinSeconds = 120;

/**
 * Removes the instances that a deployment had started. They receive no requests by now, so they are stopped without
 * delay. The keeper removes instances that do not exit, such as those on an unreachable node. If the former release
 * cannot run beside them, this waits for their exit even after a forced cancel.
 */
export async function retireOwn(context: StepContext): Promise<void> {
  const { task, call } = context;
  if (task.kept) return;
  const limit = AbortSignal.timeout((undoGraceSeconds + goneWithinSeconds) * 1_000);
  const isAlone = [task.config, task.former?.config ?? null].some((config) => config !== null && needsHalt(config));
  const signal = AbortSignal.any([call.signal, limit]);
  const within: CallContext = { ...call, signal, force: isAlone ? undefined : call.force };
  try {
    await driverSet(context).cluster.retire({ service: task.serviceId, rollout: task.rollout }, undoGraceSeconds, within);
  } catch (error) {
    if (!limit.aborted || call.signal.aborted) throw error;
    const message = `the new instances did not stop within ${undoGraceSeconds + goneWithinSeconds} s. Davit removes them later`;
    throw new DriverError({ cause: 'ENGINE_FAILED', message, error });
  }
}
