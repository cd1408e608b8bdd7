import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { CallContext, Instance, Ownership, Workload } from '@davit/drivers';
import type { BuildCommit, GitReleaseSource, JobEvent, ReleaseConfig } from '../model.ts';
import { driversOf, type DriverSet, type EngineParts } from '../shared/parts.ts';
import type { StepName } from '../plan/plan.ts';
import type { Journal } from '../run/journal.ts';
import { setRuntime, type ClaimedDeployment, type StepOutput } from '../store/journal.ts';
import { noteServiceCluster } from '../store/service-clusters.ts';
import type { RuntimeRow } from '../store/requests.ts';
import { instanceCounts } from '../scaling/instances.ts';
import { gitSourceOf as gitSource } from '../workload/image-source.ts';
import { ownerOf as ownerOfRow } from '../workload/owner.ts';
import { withRegistry } from '../workload/registry-image.ts';
import { secretIds, toWorkload } from '../workload/workload.ts';

export type { StepOutput };

/** One service in a running deployment. Steps fill in their results; the journal keeps them for the next runner. */
export interface Task {
  readonly serviceId: string;
  readonly serviceType: string;
  readonly name: string;
  readonly stage: { readonly name: string; readonly position: number };
  /**
   * Key of the cluster on which the task is done: the environment's cluster for a deployment, otherwise the cluster
   * that has the service.
   */
  readonly driver: string;
  /** The runtime before this deployment; null: the service never ran. */
  readonly former: RuntimeRow | null;
  readonly releaseId: string | null;
  readonly config: ReleaseConfig | null;
  readonly configHash: string | null;
  commit: BuildCommit | null;
  /** Commit of the repository of a chart's values. */
  valuesCommit: string | null;
  /** Name of the image, with its digest if it was pulled. */
  imageName: string | null;
  imageId: string | null;
  /** The rollout whose instances serve at the end: this deployment's, or the former one if nothing had to change. */
  rollout: string;
  /** The former instances already match the release: nothing is replaced. */
  kept: boolean;
  instances: readonly Instance[];
  /** Number of instances of the rollout; known once the rollout has started. */
  count: number | null;
  /** The job event, if it was requested explicitly. */
  readonly forcedEvent: JobEvent | null;
  /** Outputs of the steps that are done, by name of the step; see `outputOf`. */
  readonly outputs: Map<StepName, StepOutput>;
}

export interface StepContext {
  readonly parts: EngineParts;
  readonly deployment: ClaimedDeployment;
  readonly task: Task;
  readonly journal: Journal;
  readonly call: CallContext;
}

/** The words of the contract under which the status record of a service counts the time of steps. */
export type StepMetric = 'GIT_CLONE' | 'BUILD' | 'MIRROR_IMAGE' | 'DEPLOYMENT' | 'ROUTER_DEPLOYMENT' | 'EXECUTING';

/**
 * One idempotent piece of work. After a crash at any point, another process may call `run` again, and finds what was
 * created by its labels. `resume` restores a recorded result into the task.
 */
export interface Step<Output extends StepOutput = StepOutput> {
  readonly name: StepName;
  readonly metric: StepMetric;
  /** Seconds after which the step fails; a function if the service's own timing decides. */
  readonly deadlineSeconds: number | ((context: StepContext) => number);
  /**
   * Whether a cancel interrupts the step. FORCED: only a forced cancel does, because the running work has effects that
   * nobody can undo. After the change of routes a deployment can only go forward.
   */
  readonly cancelable: boolean | 'FORCED';
  /**
   * From when on the deployment only goes forward, for this step of its own accord. A step that calls `noteDeployed`
   * need not say so. Omitted: the step can be undone.
   */
  readonly onlyForward?: 'ONCE_BEGUN' | 'ONCE_DONE';
  /** Whether the step of a build only asks other hosts, so that it does not wait until a build may begin. */
  readonly isLookup?: true;
  /** As the last step, runs after the service has succeeded. If it fails, the keeper does its work later. */
  readonly runsBehind?: true;
  run(context: StepContext): Promise<Output>;
  resume?(task: Task, output: Output): void;
  /**
   * Undoes what `run` has done, or had begun, in a deployment that failed or was canceled before its routes changed.
   * The steps that were begun are undone, the last one first. May be called at any point of `run`, and again after a
   * crash. Omitted: there is nothing to undo.
   */
  undo?(context: StepContext): Promise<void>;
  /**
   * Nobody else removes the remains of this step. Its undo is therefore retried and waits for an unreachable cluster,
   * and a failed undo is reported in the failure. Omitted: the keeper removes the remains.
   */
  readonly mustBeUndone?: true;
}

export function driverSet(context: StepContext): DriverSet {
  return driversOf(context.parts, context.task.driver);
}

export function ownerOf(context: StepContext): Ownership {
  const { deployment, parts, task } = context;
  return ownerOfRow(parts, { ...deployment, service_id: task.serviceId });
}

/** Records that the task's cluster has something of the service, before anything is created there. */
export async function noteHere({ task, deployment, journal }: StepContext): Promise<void> {
  // A service that is being removed has no configuration to run.
  const keeps = (task.config?.volumes ?? []).length > 0;
  await journal.write(noteServiceCluster, [task.serviceId, task.driver, deployment.environment_id, keeps]);
}

/** The record of a service whose release is deployed. */
export interface Deployed {
  /** `STOPPED`: nothing of the service runs that Davit must keep running. */
  readonly desired: 'RUNNING' | 'STOPPED';
  readonly runningStatus: 'RUNNING' | 'STOPPED' | 'COMPLETED';
  /** Number of instances; null: the service has no lasting instances. */
  readonly instances: number | null;
}

/**
 * Records the task's release as the deployed one. From here on the deployment only goes forward. Fails with LeaseLost.
 */
export async function noteDeployed({ task, deployment, journal }: StepContext, what: Deployed, db?: Queryable): Promise<void> {
  const { serviceId, driver, releaseId, rollout, configHash } = task;
  const { organization_id, project_id, environment_id } = deployment;
  const { desired, runningStatus, instances } = what;
  const location = [serviceId, organization_id, project_id, environment_id, driver];
  await journal.write(setRuntime, [...location, desired, releaseId, rollout, configHash, runningStatus, instances], db);
}

/** Returns the output of a step of the task; undefined if the step is not done. */
export function outputOf<Output extends StepOutput>(
  { outputs }: Pick<Task, 'outputs'>,
  { name }: Step<Output>,
): Output | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the step of this name has stored it
  return outputs.get(name) as Output | undefined;
}

/** Returns whether a cron job was deployed before the deployment. */
export function hadSchedule({ former }: Task): boolean {
  return (former?.config?.job?.schedule ?? null) !== null;
}

/** Returns the configuration of a task whose action runs one. */
export function configOf(task: Task): ReleaseConfig {
  // A restart may have been requested while the first deployment, which then failed, was waiting.
  if (task.config === null) {
    throw new AppError({
      code: 'NEVER_DEPLOYED',
      message: `${task.name} has no release to run, as no deployment of it has succeeded. Deploy it first.`,
    });
  }
  return task.config;
}

/** Returns the git source from which the release's image is built. */
export function gitSourceOf(task: Task): GitReleaseSource {
  const source = gitSource(configOf(task));
  if (source === null) throw new Error(`${task.name} is not built from a repository`);
  return source;
}

/** Returns the workload of the task's release, or of the former one. Secrets are needed only to start instances. */
export async function workloadOf(context: StepContext, options: { former?: boolean; secrets: boolean }): Promise<Workload> {
  const { task, parts } = context;
  const former = options.former === true ? task.former : null;
  const config = former?.config ?? configOf(task);
  const image = former === null ? task.imageId : former.image_id;
  const workload = toWorkload({
    owner: ownerOf(context),
    release: former?.release_id ?? task.releaseId ?? '',
    rollout: former?.rollout ?? task.rollout,
    image: image ?? '',
    config,
    commit: former === null ? task.commit : former.commit,
    secrets: options.secrets ? await parts.hooks.secrets(secretIds(parts.kinds, config)) : null,
    kinds: parts.kinds,
    builtInPrefix: parts.settings.builtInPrefix,
    readyTimeoutSeconds: parts.settings.readyTimeoutSeconds,
    terminationGraceSeconds: parts.settings.terminationGraceSeconds,
  });
  const instances = former === null ? (task.count ?? config.instances) : instanceCounts(former, config).serving;
  const complete = options.secrets ? await withRegistry(parts, task.driver, config, workload) : workload;
  // A release from before a rename of the service has names that another service may use by now.
  const takesNames = former === null && config.name === task.name;
  return { ...complete, instances, ...(takesNames && { takesNames }) };
}
