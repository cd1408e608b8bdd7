import { assertRestricts } from '../routes/cluster-routes.ts';
import { assertDecides } from '../scaling/by-cluster.ts';
import { configOf, type StepContext } from './step.ts';

/**
 * Fails if the cluster lacks a feature that the task's release needs. The first step calls this before anything is
 * changed. Later steps call it too, because a runner may begin with any of them. Fails with SOURCES_UNRESTRICTED or
 * AUTOSCALING_UNAVAILABLE.
 */
export async function assertSuits({ task, parts, call }: StepContext): Promise<void> {
  const config = configOf(task);
  assertRestricts(parts, task.driver, config);
  await assertDecides(parts, task.driver, config, call.signal);
}
