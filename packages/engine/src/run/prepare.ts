import type { ReleaseConfig } from '../model.ts';
import type { EngineParts } from '../shared/parts.ts';
import type { ExecutingParts, Kinds } from '../kinds/kinds.ts';
import { planStages, type PlannedTask, type StepName } from '../plan/plan.ts';
import type { Phase } from '../states.ts';
import type { Task } from '../steps/step.ts';
import * as store from '../store/journal.ts';
import { readRuntimes, type RuntimeRow } from '../store/requests.ts';
import { secretIds } from '../workload/workload.ts';
import type { Journal } from './journal.ts';
import { readableSecrets, unlessRefused } from '../shared/readable.ts';

/** One service in a deployment: its task, its steps, and its progress. */
export interface TaskState {
  readonly task: Task;
  readonly plan: PlannedTask;
  /** Services of one call share their fate. Services of different calls that were merged into one deployment do not. */
  readonly callId: string | null;
  phase: Phase;
  readonly done: Set<StepName>;
  /** Code of the failure that an earlier attempt recorded; null: none. */
  readonly failureCode: string | null;
  /** Steps that this attempt, or an earlier one, has begun. */
  readonly begun: Set<StepName>;
  /** The step that this attempt has recorded as begun, together with what came before it, but has not run yet. */
  ahead: StepName | null;
}

interface PrepareInput {
  readonly parts: ExecutingParts;
  readonly deployment: store.ClaimedDeployment;
  readonly journal: Journal;
}

/**
 * Plans a claimed deployment, and restores what earlier attempts have recorded. Returns the services by stage, first
 * stage first. Their steps are in the journal afterwards.
 */
export async function prepareTasks(input: PrepareInput): Promise<readonly (readonly TaskState[])[]> {
  const { deployment, parts, journal } = input;
  const [rows, steps] = await Promise.all([
    parts.database.many(store.readTasks, [deployment.id]),
    parts.database.many(store.readSteps, [deployment.id]),
  ]);
  const ids = rows.map((row) => row.service_id);
  const runtimes = new Map((await parts.database.many(readRuntimes, [ids])).map((row) => [row.service_id, row]));
  const tasks = await Promise.all(rows.map((row) => toTask(input, row, runtimes.get(row.service_id) ?? null)));
  const recorded = Map.groupBy(steps, (row) => row.service_id);
  const planned = planStages(
    parts.kinds,
    deployment.action,
    tasks.map((task, index) => ({
      serviceId: task.serviceId,
      stageName: task.stage.name,
      stagePosition: task.stage.position,
      config: task.config,
      serviceType: task.serviceType,
      event: task.forcedEvent,
      // The recorded plan takes precedence: a build or pull that is done must stay in the resumed plan.
      hasImage: recorded.has(task.serviceId)
        ? !(recorded.get(task.serviceId) ?? []).some((step) => step.name === 'build' || step.name === 'pull')
        : hasImage(input.parts, task.driver, rows[index]?.image_id ?? null),
    })),
  );
  const stages = planned.map((stage) =>
    stage.tasks.flatMap((plan): TaskState[] => {
      const task = tasks.find((one) => one.serviceId === plan.serviceId);
      const row = rows.find((one) => one.service_id === plan.serviceId);
      if (task === undefined || row === undefined) return [];
      const known = recorded.get(task.serviceId) ?? [];
      const begun = new Set(known.filter(({ status }) => status !== 'PENDING').map(({ name }) => name));
      return [
        {
          task,
          plan,
          callId: row.call_id,
          phase: row.phase === 'QUEUED' ? 'WAITING' : row.phase,
          failureCode: row.failure_code,
          done: resume(parts.kinds, task, known),
          begun,
          ahead: null,
        },
      ];
    }),
  );
  await journal.beginServices(stages.flat().flatMap((member) => journalRows(parts.kinds, member)));
  return stages;
}

/**
 * Returns whether a cluster can run the image that is recorded for a release. An engine can run its own images, other
 * clusters those of a registry.
 */
function hasImage({ drivers }: EngineParts, driver: string, imageId: string | null): boolean {
  if (imageId === null) return false;
  const pullsItself = drivers[driver]?.carrier === null;
  return pullsItself !== imageId.startsWith('sha256:');
}

/**
 * Returns the secrets and credentials with which services are run or fetched, which no log may contain. A value that
 * cannot be read cannot be leaked; the step that needs it fails and reports the reason.
 */
export async function valuesToHide(
  { hooks, kinds }: Pick<EngineParts, 'hooks' | 'kinds'>,
  members: readonly TaskState[],
): Promise<readonly string[]> {
  // A configuration is destroyed as it was deployed.
  const configs = members.flatMap(({ task }) => [task.config, task.former?.config ?? null]);
  const ids = [...new Set(configs.flatMap((config) => (config === null ? [] : secretIds(kinds, config))))];
  const credentials = await Promise.all(configs.map((config) => credentialsOf({ hooks, kinds }, config)));
  return [...(await readableSecrets(hooks, ids)), ...credentials.flat().map((one) => one.password)];
}

/** Returns the position of a step in the journal. */
export function positionOf(plan: PlannedTask, name: StepName): number {
  return [...plan.build, ...plan.deploy].indexOf(name);
}

async function toTask(
  { deployment, journal, parts }: PrepareInput,
  row: store.TaskRow,
  former: RuntimeRow | null,
): Promise<Task> {
  const { action } = deployment;
  // A job that is taken down runs what was deployed. Its release is stored with the deployment, for a runner that
  // resumes after the runtime record is removed.
  const runs = former !== null && former.config !== null && parts.kinds.of(former.config).runsWhenTakenDown;
  const restart = action === 'RESTART' || (action !== 'DEPLOY' && runs);
  const config = row.config ?? (restart ? (former?.config ?? null) : null);
  const releaseId = row.release_id ?? (restart ? (former?.release_id ?? null) : null);
  if (restart && row.release_id === null && releaseId !== null) {
    await journal.writeAny(store.adoptRelease, [row.service_id, releaseId]);
  }
  return {
    serviceId: row.service_id,
    serviceType: row.service_type,
    name: row.service_name,
    stage: { name: row.stage_name, position: row.stage_position },
    driver: action === 'DEPLOY' ? deployment.driver : (former?.driver ?? deployment.driver),
    former,
    releaseId,
    config,
    configHash: row.config_hash ?? (restart ? (former?.config_hash ?? null) : null),
    commit: row.commit ?? (restart ? (former?.commit ?? null) : null),
    valuesCommit: row.values_commit,
    imageName: row.image_name ?? (restart ? (former?.image_name ?? null) : null),
    imageId: row.image_id ?? (restart ? (former?.image_id ?? null) : null),
    rollout: row.rollout,
    kept: false,
    instances: [],
    count: null,
    forcedEvent: row.event,
    outputs: new Map(),
  };
}

/** Restores the results of recorded steps. */
function resume(kinds: Kinds, task: Task, rows: readonly store.StepRow[]): Set<StepName> {
  const done = new Set<StepName>();
  for (const row of rows) {
    const { name } = row;
    if (row.status === 'SKIPPED') done.add(name);
    if (row.status !== 'DONE') continue;
    done.add(name);
    const output = row.output ?? {};
    task.outputs.set(name, output);
    kinds.step(name).resume?.(task, output);
    for (const skipped of output.skip ?? []) done.add(skipped);
  }
  return done;
}

/** Returns the credentials for fetching the source or the image. */
async function credentialsOf(
  { hooks, kinds }: Pick<EngineParts, 'hooks' | 'kinds'>,
  config: ReleaseConfig | null,
): Promise<readonly { readonly password: string }[]> {
  if (config === null) return [];
  const { registry, gitTokens } = kinds.of(config).credentials(config);
  const found = await Promise.all([
    ...(registry === null ? [] : [unlessRefused(hooks.registryCredentials(registry))]),
    ...gitTokens.map((id) => unlessRefused(hooks.gitCredentials(id, null))),
  ]);
  return found.flatMap((one) => one ?? []);
}

function journalRows(
  kinds: Kinds,
  member: TaskState,
): { service_id: string; position: number; name: StepName; metric: string }[] {
  return [...member.plan.build, ...member.plan.deploy].map((name, position) => ({
    service_id: member.task.serviceId,
    position,
    name,
    metric: kinds.step(name).metric,
  }));
}

export function isFailed({ phase }: Pick<TaskState, 'phase'>): boolean {
  return phase === 'FAILED' || phase === 'BUILD_FAILED';
}
