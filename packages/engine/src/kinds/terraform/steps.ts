import { rm } from 'node:fs/promises';
import { messageOf } from '@davit/base';
import { DriverError, type TerraformDriver, type TerraformResource, type TerraformSession } from '@davit/drivers';
import { ClusterUnreachable } from '../../shared/cluster-drivers.ts';
import { storable } from '../../jobs/outputs.ts';
import type { BuildCommit, ReleaseConfig } from '../../model.ts';
import { isDatabaseUnreachable } from '../../shared/retry-policy.ts';
import { terraformAction, terraformSourceOf } from './plan.ts';
import { withoutSecrets } from './resources.ts';
import * as journal from '../../store/journal.ts';
import * as store from '../../store/terraform.ts';
import { endRuns } from '../../store/terraform-runs.ts';
import { storeLeft } from './state-access.ts';
import { secretIds } from '../../workload/workload.ts';
import { checkoutFolder } from '../../steps/image.ts';
import { leaveAll } from '../../steps/removal.ts';
import { sourceAt } from '../../steps/source.ts';
import {
  configOf,
  driverSet,
  noteDeployed,
  noteHere,
  ownerOf,
  type Step,
  type StepContext,
  type StepOutput,
} from '../../steps/step.ts';
import { checkout, graceOf, isEmpty, runOf, terraformOf } from './run.ts';

/*
 * A Terraform configuration is planned and applied in a pod of its environment's cluster, or by a program of this
 * machine in a folder of the deployment. Its state records the created resources. Davit keeps the state encrypted
 * unless the configuration uses another backend, so that a crash loses only the work since the last write. A pod that
 * survives a crash is found again and followed.
 */

const fetchSeconds = 1_800;
const longestSeconds = 7 * 86_400;

interface Obtained extends StepOutput {
  readonly commit?: BuildCommit;
}

/** Fetches the resolved commit. */
export const obtain: Step<Obtained> = {
  name: 'obtain',
  metric: 'GIT_CLONE',
  deadlineSeconds: fetchSeconds,
  cancelable: true,
  async run(context) {
    const { task, call } = context;
    const { source } = terraformOf(configOf(task));
    if (source.hasFragment) {
      throw new DriverError({
        cause: 'TERRAFORM_FRAGMENT_UNSUPPORTED',
        message: `${task.name} has a dockerfile_fragment, but its runs do not use an image that Davit builds`,
      });
    }
    const { cluster, terraform } = driverSet(context);
    if (cluster.kind === 'kubernetes' && terraform === undefined)
      call.log('Runs on the machine of Davit and not on the cluster, because the settings of the cluster have no davit_address.');
    const git = await sourceAt(context, source.git);
    const id = task.commit?.id ?? (await driverSet(context).source.resolve(git, call));
    const commit = await checkout(context, configOf(task), id);
    task.commit = commit;
    await context.journal.writeAny(store.setReleaseCommit, [task.releaseId, JSON.stringify(commit)]);
    call.log(`Fetched commit ${id.slice(0, 12)}: ${commit.message?.split('\n', 1)[0] ?? ''}`);
    return { commit };
  },
  resume(task, output) {
    task.commit = output.commit ?? null;
  },
  // The created resources are in the state. None of them is removed.
  undo: removeRun,
};

/** Finds out what would change. For the action PLAN this is the only step. */
export const terraformPlan: Step = {
  name: 'terraform-plan',
  metric: 'EXECUTING',
  deadlineSeconds: (context) => commandSeconds(configOf(context.task)),
  cancelable: true,
  async run(context) {
    const { task, deployment, call } = context;
    const config = configOf(task);
    const isPlan = terraformAction(deployment.action, config) === 'PLAN';
    // From here on there may be a state, which a deletion has to check.
    await context.journal.writeAny(store.beginRuntime, [
      task.serviceId,
      deployment.organization_id,
      deployment.project_id,
      deployment.environment_id,
      task.driver,
      task.releaseId,
    ]);
    const { changes } = await usingObtained(context, async (session, isNew) => {
      if (!isNew) await session.init(call);
      return session.plan(call);
    });
    if (isPlan) await removeRun(context);
    return changes || isPlan ? {} : { skip: ['terraform-apply'] };
  },
};

/** Applies the plan. After a crash it applies a new plan, because the old one may be partly done. */
export const terraformApply: Step = {
  name: 'terraform-apply',
  metric: 'EXECUTING',
  deadlineSeconds: (context) => commandSeconds(configOf(context.task)),
  cancelable: true,
  async run(context) {
    const { call } = context;
    await usingObtained(context, async (session, isNew) => {
      if (isNew || (await session.wasApplied())) {
        call.log('This apply was interrupted: planning again what is left of it.');
        if (!isNew) await session.init(call);
        if (!(await session.plan(call)).changes) return;
      }
      await session.apply(call);
    });
    return {};
  },
};

/** Records the existing resources and the outputs of the configuration. */
export const settle: Step = {
  name: 'settle',
  metric: 'EXECUTING',
  deadlineSeconds: 300,
  cancelable: false,
  async run(context) {
    const { task, deployment, call, parts } = context;
    const { outputs, resources } = await usingObtained(context, async (session) => ({
      outputs: await session.outputs(call),
      resources: await listResources(context, session),
    }));
    // Names of outputs may contain dashes, names of variables may not.
    const reported = outputs.map((output) => ({ ...output, name: output.name.replaceAll('-', '_'), description: null }));
    const { builtInPrefix } = parts.settings;
    const stored = storable(reported, { builtInPrefix, type: 'TERRAFORM', id: task.serviceId });
    await parts.hooks.serviceOutputs(task.serviceId, stored.outputs);
    // Nothing of the configuration runs that Davit must keep running.
    await noteDeployed(context, { desired: 'STOPPED', runningStatus: 'COMPLETED', instances: null });
    if (resources !== null) {
      const sealed = parts.hooks.seal(task.serviceId, JSON.stringify(resources));
      const location = [task.serviceId, deployment.organization_id, deployment.environment_id];
      await context.journal.write(store.writeResources, [...location, sealed]);
    }
    if (stored.outputs.length > 0) call.log(`Outputs: ${stored.outputs.map(({ name }) => name).join(', ')}.`);
    for (const note of stored.notes) call.log(note);
    await removeRun(context);
    return {};
  },
};

/** Destroys the existing resources with the configuration that created them. */
export const destroy: Step = {
  name: 'destroy',
  metric: 'EXECUTING',
  deadlineSeconds: (context) => fetchSeconds + commandSeconds(context.task.former?.config ?? null),
  cancelable: true,
  async run(context) {
    const { task, call } = context;
    const { former } = task;
    const config = former?.config ?? null;
    if (config === null || former === null || (await isEmpty(context, config))) {
      call.log('There is nothing to destroy.');
      return {};
    }
    const commit =
      former.commit?.id ??
      (await driverSet(context).source.resolve(await sourceAt(context, terraformOf(config).source.git), call));
    await checkout(context, config, commit);
    try {
      await using(context, config, async (session) => {
        await session.init(call);
        if ((await session.plan(call, { destroy: true })).changes) await session.apply(call);
      });
    } catch (error) {
      // A removal is not undone, and nobody else would end the run at once.
      if (call.leave?.aborted !== true && !(error instanceof ClusterUnreachable)) await endFailed(context);
      throw error;
    }
    return {};
  },
};

/** Removes state and outputs: nothing is left, or the resources are abandoned on purpose. */
export const forget: Step = {
  name: 'forget',
  metric: 'EXECUTING',
  deadlineSeconds: 120,
  cancelable: false,
  async run(context) {
    const { task, call, journal: writer, parts } = context;
    await parts.hooks.serviceOutputs(task.serviceId, []);
    // The run is removed first, because its writes would create the state again.
    await removeRun(context);
    await leaveAll(context);
    await writer.transaction(async (tx) => {
      await writer.writeAny(store.removeState, [task.serviceId], tx);
      await writer.writeAny(store.removeResources, [task.serviceId], tx);
      await writer.writeAny(journal.removeRuntime, [task.serviceId], tx);
    });
    call.log('The state is removed.');
    return {};
  },
};

/** Returns the resources for later queries; null if they cannot be listed. That does not undo what was applied. */
async function listResources(context: StepContext, session: TerraformSession): Promise<readonly TerraformResource[] | null> {
  const { task, call, parts } = context;
  try {
    const resources = await session.resources(call);
    const secrets = await parts.hooks.secrets(secretIds(parts.kinds, configOf(task)));
    return await withoutSecrets(resources, secrets.values());
  } catch (error) {
    if (call.signal.aborted) throw error;
    call.log(`The resources could not be listed: ${messageOf(error)}.`);
    return null;
  }
}

/** Releases the lock of a state, regardless of its owner. No other run of the environment is under way. */
export const unlock: Step = {
  name: 'unlock',
  metric: 'EXECUTING',
  deadlineSeconds: 120,
  cancelable: false,
  async run(context) {
    const { task, deployment, call, parts } = context;
    if (terraformOf(configOf(task)).source.backend.kubernetes === undefined) {
      throw new DriverError({
        cause: 'TERRAFORM_FAILED',
        message: 'the state is not stored by Davit, which therefore does not know its lock',
        hint: 'Run terraform force-unlock with the id that the failed run names, from a machine that can reach that backend.',
      });
    }
    const unlocked = await parts.database.maybe(store.unlockState, [deployment.id, deployment.fence, task.serviceId, null]);
    call.log(unlocked === undefined ? 'The state was not locked.' : 'The state is unlocked.');
    return {};
  },
};

/** Moves the state from the backend of the deployed configuration to that of the new one. */
export const migrate: Step = {
  name: 'migrate',
  metric: 'EXECUTING',
  deadlineSeconds: (context) => commandSeconds(configOf(context.task)),
  cancelable: true,
  async run(context) {
    const { task, call } = context;
    const former = task.former?.config ?? null;
    if (former === null) {
      throw new DriverError({
        cause: 'TERRAFORM_FAILED',
        message: 'nothing has been applied yet, so there is no state to move',
        hint: 'Deploy it: the state is then created in the backend that is configured now.',
      });
    }
    const state = await using(
      context,
      former,
      async (session) => {
        await session.init(call);
        return session.pull(call);
      },
      'FORMER',
    );
    await using(context, configOf(task), async (session) => {
      await session.init(call);
      await session.push(state, call);
    });
    await removeRun(context);
    return {};
  },
};

/**
 * Removes what a run left on the cluster and on this machine. The plan and the providers' files may contain secrets.
 */
export async function removeRun(context: StepContext): Promise<void> {
  const folder = checkoutFolder(context);
  const { config, former } = context.task;
  const terraform = terraformOn(context);
  await endOnCluster(context, terraform);
  for (const one of [config, former?.config ?? null]) {
    const source = one === null ? null : terraformSourceOf(one);
    if (source === null || !(await terraform.hasUnstoredState(folder, source.git.rootPath))) continue;
    context.call.log(
      `A state could not be stored and stays in ${folder}. Push it by hand (terraform state push) before anything else is applied.`,
    );
    return;
  }
  await rm(folder, { recursive: true, force: true });
}

/** Ends the run on the cluster. Its token is invalid from then on, so that later writes of the run are refused. */
async function endOnCluster(context: StepContext, terraform: TerraformDriver): Promise<void> {
  const { task, call, journal: writer } = context;
  const grace = call.force?.aborted === true ? 0 : graceOf(task.config ?? task.former?.config ?? null);
  const owner = ownerOf(context);
  // A state that a pod of an earlier deployment could not store would be lost with the pod.
  if (call.force?.aborted !== true) await rescue(context, terraform, grace);
  await terraform.remove(owner, grace, call);
  await writer.writeAny(endRuns, [task.serviceId]);
}

/**
 * Stores states that runs could not store. Failures do not prevent the end of a run, whose own states are stored by the
 * step that applies.
 */
async function rescue(context: StepContext, terraform: TerraformDriver, graceSeconds: number): Promise<void> {
  const { task, call, parts } = context;
  try {
    for (const left of await terraform.end(ownerOf(context), graceSeconds, call)) {
      if (await storeLeft(parts, task.serviceId, left)) call.log('The state that a run could not store is now stored.');
    }
  } catch (error) {
    // An existing state must not be lost with its pod because the database was unreachable when the state was to be
    // stored.
    if (call.signal.aborted || error instanceof ClusterUnreachable || isDatabaseUnreachable(error)) throw error;
    call.log(`The files of the run could not be read: ${messageOf(error)}`);
  }
}

/**
 * Ends the run on the cluster after a failure. The user must see that failure; the keeper removes what cannot be
 * removed now.
 */
async function endFailed(context: StepContext): Promise<void> {
  const { call } = context;
  const own = { ...context, call: { ...call, signal: call.leave ?? call.signal } };
  await endOnCluster(own, terraformOn(context)).catch((error: unknown) => {
    call.log(`The first attempt to remove the run failed: ${messageOf(error)}`);
  });
}

/** Returns the driver that runs the configuration: the cluster's own if it has one. */
function terraformOn(context: StepContext): TerraformDriver {
  return driverSet(context).terraform ?? context.parts.terraform;
}

function commandSeconds(config: ReleaseConfig | null): number {
  const seconds = config === null ? 0 : terraformOf(config).source.timeoutSeconds;
  return seconds === 0 ? longestSeconds : seconds;
}

async function using<T>(
  context: StepContext,
  config: ReleaseConfig,
  work: (session: TerraformSession) => Promise<T>,
  which: 'NOW' | 'FORMER' = 'NOW',
): Promise<T> {
  // Recorded before there is a pod, so that a removal of the environment from a cluster finds the pod.
  if (driverSet(context).terraform !== undefined) await noteHere(context);
  const session = await terraformOn(context).open(await runOf(context, config, which), context.call);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

/**
 * Runs a step that follows `obtain`. The files may be missing, because they are on another machine or the step had
 * removed them before it was recorded. They are then fetched and initialized again: the session `isNew`, and has no
 * plan.
 */
function usingObtained<T>(context: StepContext, work: (session: TerraformSession, isNew: boolean) => Promise<T>): Promise<T> {
  return using(context, configOf(context.task), async (session) => {
    if (session.isNew) await session.init(context.call);
    return work(session, session.isNew);
  });
}
