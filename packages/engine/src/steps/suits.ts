import { assertRestricts } from '../routes/front-door.ts';
import { assertDecides } from '../scaling/by-cluster.ts';
import { configOf, type StepContext } from './step.ts';

/**
 * What the cluster of a task cannot do of its release. The first of its steps asks, before anything is touched; the ones after it too, as a
 * runner may begin with any of them. SOURCES_UNRESTRICTED, AUTOSCALING_UNAVAILABLE.
 */
export async function assertSuits({ task, parts, call }: StepContext): Promise<void> {
  const config = configOf(task);
  assertRestricts(parts, task.driver, config);
  await assertDecides(parts, task.driver, config, call.signal);
}
