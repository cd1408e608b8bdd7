import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { CallContext, Instance, Ownership, Workload } from '@davit/drivers';
import { gitSourceOf as gitSource } from '../kinds/image.ts';
import type { BuildCommit, GitReleaseSource, JobEvent, ReleaseConfig } from '../model.ts';
import { driversOf, type DriverSet, type EngineParts } from '../shared/parts.ts';
import type { StepName, StepOutput } from '../plan/plan.ts';
import type { Journal } from '../run/journal.ts';
import { setRuntime, type ClaimedDeployment } from '../store/journal.ts';
import { notePlace } from '../store/places.ts';
import type { RuntimeRow } from '../store/requests.ts';
import { instanceCounts } from '../scaling/instances.ts';
import { withRegistry } from '../workload/registry-image.ts';
import { secretIds, toWorkload } from '../workload/workload.ts';

/** One service inside a running deployment. Steps fill in what they find out; the journal keeps it for the next runner. */
export interface Task {
  readonly serviceId: string;
  readonly serviceType: string;
  readonly name: string;
  readonly stage: { readonly name: string; readonly position: number };
  /** Of the cluster on which this is done: the environment's when it is deployed, otherwise that on which the service is. */
  readonly driver: string;
  /** What runs before this deployment; null: nothing ever did. */
  readonly former: RuntimeRow | null;
  readonly releaseId: string | null;
  readonly config: ReleaseConfig | null;
  readonly configHash: string | null;
  commit: BuildCommit | null;
  /** Of the repository of a chart's values. */
  valuesCommit: string | null;
  /** What the image is called, with the digest where it was pulled. */
  imageName: string | null;
  imageId: string | null;
  /** The rollout whose instances serve at the end: this deployment's, or the former one when nothing had to change. */
  rollout: string;
  /** The former instances are as wanted: nothing is replaced. */
  kept: boolean;
  instances: readonly Instance[];
  /** How many of them the rollout has; known from its start on. */
  count: number | null;
  /** What of a job is run; null: nothing, or it is no job. */
  readonly event: JobEvent | null;
  /** The same where it was asked for by itself. */
  readonly forcedEvent: JobEvent | null;
  /** When that run was started, by the clock of the database. */
  launchedAt: string | null;
}

export interface StepContext {
  readonly parts: EngineParts;
  readonly deployment: ClaimedDeployment;
  readonly task: Task;
  readonly journal: Journal;
  readonly call: CallContext;
}

/**
 * One idempotent piece of work. `run` may be called again after a crash at any point of it, by another process: what it makes
 * is found again by its labels. `resume` puts a recorded result back into the task.
 */
export interface Step {
  readonly name: StepName;
  /** Seconds after which it has failed; a function where the service's own timing decides. */
  readonly deadlineSeconds: number | ((context: StepContext) => number);
  /** Whether a cancel interrupts it; FORCED: only one that says so, as what runs has effects that nobody can take back. From the change of routes on there is no way back, only forward. */
  readonly cancelable: boolean | 'FORCED';
  run(context: StepContext): Promise<StepOutput>;
  resume?(task: Task, output: StepOutput): void;
  /**
   * Takes back what `run` has done, or had begun, in a deployment that failed or was canceled before its routes changed. The steps that were begun
   * are undone, the last one first. May be called at any point of `run`, and again after a crash. Left out: nothing has to be taken back.
   */
  undo?(context: StepContext): Promise<void>;
  /**
   * Nobody else takes back what is left of this step: its undo is tried again, waits for a cluster that is away, and what could not be taken back is
   * part of the failure. Left out: the keeper removes what is left.
   */
  readonly mustBeUndone?: true;
}

export function driverSet(context: StepContext): DriverSet {
  return driversOf(context.parts, context.task.driver);
}

export function ownerOf(context: StepContext): Ownership {
  const { deployment, parts, task } = context;
  return {
    installation: parts.settings.installation,
    organization: deployment.organization_id,
    project: deployment.project_id,
    environment: deployment.environment_id,
    service: task.serviceId,
  };
}

/** Writes down that something of the service is on the task's cluster, before anything is. */
export async function noteHere({ task, deployment, journal }: StepContext): Promise<void> {
  // What is taken away has no release to run.
  const keeps = (task.config?.volumes ?? []).length > 0;
  await journal.write(notePlace, [task.serviceId, task.driver, deployment.environment_id, keeps]);
}

/** What is written down of a service once its release is deployed. */
export interface Deployed {
  /** `STOPPED`: nothing of it runs that Davit would have to keep running. */
  readonly desired: 'RUNNING' | 'STOPPED';
  readonly runningStatus: 'RUNNING' | 'STOPPED' | 'COMPLETED';
  /** null: there are none that stay. */
  readonly instances: number | null;
}

/** Writes down that the task's release is what is deployed. From here on everybody goes forward to it. Fails with LeaseLost. */
export async function noteDeployed({ task, deployment, journal }: StepContext, what: Deployed, db?: Queryable): Promise<void> {
  const { serviceId, driver, releaseId, rollout, configHash } = task;
  const { organization_id, project_id, environment_id } = deployment;
  const { desired, runningStatus, instances } = what;
  const place = [serviceId, organization_id, project_id, environment_id, driver];
  await journal.write(setRuntime, [...place, desired, releaseId, rollout, configHash, runningStatus, instances], db);
}

/** Whether what runs before the deployment is a cron job. */
export function hadSchedule({ former }: Task): boolean {
  return (former?.config?.job?.schedule ?? null) !== null;
}

/** The configuration of a task whose action runs one. */
export function configOf(task: Task): ReleaseConfig {
  // A restart may have been asked for while the first deployment waited, which failed then.
  if (task.config === null) {
    throw new AppError({
      code: 'NEVER_DEPLOYED',
      message: `${task.name} has no release to run, as no deployment of it has succeeded. Deploy it first.`,
    });
  }
  return task.config;
}

/** Where the release's image is built from. */
export function gitSourceOf(task: Task): GitReleaseSource {
  const source = gitSource(configOf(task));
  if (source === null) throw new Error(`${task.name} is not built from a repository`);
  return source;
}

/** The workload of the task's release, or of the former one. With secrets when instances are to be made. */
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
    secrets: options.secrets ? await parts.hooks.secrets(secretIds(config)) : null,
    builtInPrefix: parts.settings.builtInPrefix,
    readyTimeoutSeconds: parts.settings.readyTimeoutSeconds,
    terminationGraceSeconds: parts.settings.terminationGraceSeconds,
  });
  const instances = former === null ? (task.count ?? config.instances) : instanceCounts(former, config).serving;
  const complete = options.secrets ? await withRegistry(parts, task.driver, config, workload) : workload;
  // A release of the time when the service was called otherwise has names that another service may have by now.
  const takesNames = former === null && config.name === task.name;
  return { ...complete, instances, ...(takesNames && { takesNames }) };
}
