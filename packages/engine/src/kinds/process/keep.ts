import type { Instance } from '@davit/drivers';
import { retireInstances, retireSeconds, type KeepTools, type Look } from '../../keeper/keep-tools.ts';
import { isAsSeen, workloadOf, type KeptService } from '../../keeper/kept-service.ts';
import { instanceCounts } from '../../scaling/instances.ts';
import { driversOf } from '../../shared/parts.ts';
import { needsHalt } from '../../workload/needs-halt.ts';
import { startWithImage } from '../../workload/registry-image.ts';
import { terminationGrace } from '../../workload/workload.ts';

// Includes time for a pull, as in a deployment.
const startSeconds = 1_800;
/** Timeout of the calls that set restart policies. */
const policySeconds = 60;

/**
 * Restarts exited instances, unless their cluster does, and starts missing ones. Sets the restart policy of instances
 * that lack it. Removes the instances of a service that should not run.
 */
export async function keepInstances(runtime: KeptService, { seen }: Look, tools: KeepTools): Promise<void> {
  const { parts } = tools;
  const instances = seen.byService.get(runtime.service_id) ?? [];
  if (runtime.desired !== 'RUNNING' || runtime.is_held) {
    await retireInstances(tools, runtime.service_id, instances, terminationGrace(runtime.config, parts.settings));
    return;
  }
  if (runtime.config === null) return;
  // `FormerInstances` ends the others.
  const mine = instances.filter((instance) => instance.rollout === runtime.rollout);
  // A second instance beside one that has not ended would be a second writer of the volume.
  if (mine.length < instances.length && needsHalt(runtime.config)) return;
  const { existing, serving, lasting } = instanceCounts(runtime, runtime.config);
  if (mine.some(({ index }) => index >= existing)) await retireFrom(tools, runtime, existing);
  // Instances above `lasting` are being removed, so their exit is intended.
  const ended = mine.filter(({ index, state }) => index < lasting && state !== 'RUNNING');
  // The scaler starts the instances above `serving`, and awaits them.
  const isMissing = mine.filter(({ index }) => index < serving).length < serving;
  // The removals above may have taken long.
  if ((ended.length > 0 || isMissing) && (await isAsSeen(parts, runtime))) {
    // A cluster with `health` restarts its instances itself. A second restart would end the first one.
    const { health } = driversOf(parts, tools.driver).cluster;
    if (health === undefined) for (const instance of ended) await tools.revival.ofExit(instance);
    if (isMissing) await startMissing(tools, runtime);
  }
  const unprotected = mine.filter((one) => one.index < serving && needsRestartPolicy(one) && tools.isReady(one));
  if (unprotected.length > 0) await setMissingPolicies(tools, runtime, unprotected);
}

function needsRestartPolicy({ state, needsRestartPolicy: isNeeded }: Instance): boolean {
  return state === 'RUNNING' && isNeeded === true;
}

/**
 * Sets the restart policy of instances that run and have not failed a probe. Those of a deployment have it; those that
 * the keeper started, or that a deployment could not set it for, do not.
 */
async function setMissingPolicies(
  { parts, driver, attempts, call }: KeepTools,
  { service_id: service, rollout }: KeptService,
  instances: readonly Instance[],
): Promise<void> {
  const { cluster } = driversOf(parts, driver);
  if (rollout === null) return;
  await attempts.attempt(`restart policy of ${service}`, async () => {
    const { signal } = call(policySeconds);
    const ids = new Set(instances.map(({ id }) => id));
    // A deployment may have set it since the look.
    const now = (await cluster.observe({ service, rollout }, signal)).filter((one) => ids.has(one.id) && needsRestartPolicy(one));
    if (now.length > 0) await cluster.setRestartPolicy(now, signal);
  });
}

/** Removes the instances that exceed a reduced number of instances. */
async function retireFrom({ parts, driver, attempts, call }: KeepTools, runtime: KeptService, fromIndex: number): Promise<void> {
  const { service_id: service, rollout, config } = runtime;
  const { cluster } = driversOf(parts, driver);
  if (rollout === null) return;
  const grace = terminationGrace(config, parts.settings);
  await attempts.attempt(`retire from ${service}`, () =>
    cluster.retire({ service, rollout, fromIndex }, grace, call(grace + retireSeconds)),
  );
}

async function startMissing({ parts, driver, attempts, call: callFor }: KeepTools, runtime: KeptService): Promise<void> {
  const { cluster } = driversOf(parts, driver);
  await attempts.attempt(`start ${runtime.service_id}`, async () => {
    const workload = await workloadOf(parts, runtime, true);
    if (workload === null || runtime.config === null) return;
    const { config, image_name: imageName } = runtime;
    const image = { driver, serviceName: config.name, source: config.source, imageName };
    const call = callFor(startSeconds);
    await startWithImage(parts, image, call, async () => {
      // A deployment may have begun. A second instance beside its own would be a second writer of the volume.
      if (await isAsSeen(parts, runtime)) await cluster.start(workload, call);
    });
  });
}
