import { DriverError, type CallContext } from '@davit/drivers';
import { needsHalt } from '../kinds/process.ts';
import { driverSet, type StepContext } from './step.ts';

const undoGraceSeconds = 2;
/** How much longer than their grace instances that are taken back are waited for. */
const goneWithinSeconds = 120;

/**
 * Removes the instances that a deployment had started. They get no requests by now, so they go at once. Those that do not, as of a node that is
 * away, are the keeper's to remove. Where the former release cannot run beside them they are waited for also after a cancel with force.
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
    const message = `the new instances did not end within ${undoGraceSeconds + goneWithinSeconds} s. Davit removes them later`;
    throw new DriverError({ cause: 'ENGINE_FAILED', message, error });
  }
}
