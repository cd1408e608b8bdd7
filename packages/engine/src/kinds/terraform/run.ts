import { join } from 'node:path';
import type { StateLock, StateStore, TerraformBackend, TerraformRun } from '@davit/drivers';
import { terraformSourceOf } from './plan.ts';
import type { BuildCommit, ReleaseConfig, TerraformReleaseSource } from '../../model.ts';
import * as store from '../../store/terraform.ts';
import { admitRun, runIdOf } from './state-access.ts';
import { joined, secretIds } from '../../workload/workload.ts';
import { checkoutFolder } from '../../steps/image.ts';
import { sourceAt } from '../../steps/source.ts';
import { driverSet, ownerOf, type StepContext } from '../../steps/step.ts';

/* Builds the driver's input for a Terraform run, and the store of the state that the run works on. */

/**
 * Default of the contract's setting, in seconds. It is longer than for a process of a service because a half-created
 * resource costs more.
 */
export const defaultGraceSeconds = 60;

export function terraformOf(config: ReleaseConfig): { readonly source: TerraformReleaseSource } {
  const source = terraformSourceOf(config);
  if (source === null) throw new Error(`${config.name} is no Terraform configuration`);
  return { source };
}

export function graceOf(config: ReleaseConfig | null): number {
  return config?.options?.terminationGraceSeconds ?? defaultGraceSeconds;
}

export async function checkout(context: StepContext, config: ReleaseConfig, commit: string): Promise<BuildCommit> {
  const git = await sourceAt(context, terraformOf(config).source.git);
  return driverSet(context).source.checkout({ ...git, commit }, join(checkoutFolder(context), 'source'), context.call);
}

export async function runOf(context: StepContext, config: ReleaseConfig, which: 'NOW' | 'FORMER' = 'NOW'): Promise<TerraformRun> {
  const { source } = terraformOf(config);
  const { deployment, task } = context;
  const secrets = await context.parts.hooks.secrets(secretIds(context.parts.kinds, config));
  const id = runIdOf(deployment.id, task.serviceId, which);
  return {
    id,
    owner: ownerOf(context),
    name: config.name,
    release: task.releaseId ?? '',
    engine: source.engine,
    version: source.version,
    folder: checkoutFolder(context),
    fetch: async () => {
      if (task.commit !== null) await checkout(context, config, task.commit.id);
    },
    rootPath: source.git.rootPath,
    backend: backendOf(context, source, id),
    environment: Object.fromEntries(config.environment.map(({ name, parts }) => [name, joined(parts, secrets, name)])),
    files: config.files.map(({ path, parts }) => ({ path, content: joined(parts, secrets, path) })),
    variableFiles: source.variableFiles,
    variables: Object.fromEntries(source.variables.map(({ name, parts }) => [name, joined(parts, secrets, name)])),
    extraArguments: source.extraArguments,
    limits: {
      cpuMillicores: config.cpuMillicores,
      memoryMiB: config.memoryMiB,
      storageGiB: source.storageGiB,
      graceSeconds: graceOf(config),
    },
  };
}

function backendOf(context: StepContext, { backend }: TerraformReleaseSource, runId: string): TerraformBackend {
  if (backend.user_provided !== undefined) return { type: 'FILES' };
  if (backend.blueprint !== undefined) return backend.blueprint;
  return { type: 'DAVIT', store: stateStore(context), admit: () => admitRun(context, runId) };
}

/**
 * Returns the store of a task's state kept by Davit. Each write names the fence, so a run that was taken over can no
 * longer change the state.
 */
function stateStore({ parts, deployment, task, journal: writer }: StepContext): StateStore {
  const { hooks, database } = parts;
  const location = [task.serviceId, deployment.organization_id, deployment.environment_id];
  return {
    read: async () => {
      const sealed = (await database.maybe(store.readState, [task.serviceId]))?.sealed ?? null;
      return sealed === null ? null : hooks.open(task.serviceId, sealed);
    },
    write: (state) => writer.write(store.writeState, [...location, hooks.seal(task.serviceId, state)]),
    lock: async (info) => {
      const values = [deployment.id, deployment.fence, ...location, JSON.stringify(info)];
      if ((await database.maybe(store.lockState, values)) !== undefined) return null;
      const held: StateLock | null = (await database.maybe(store.readState, [task.serviceId]))?.lock ?? null;
      return held ?? { ID: 'unknown' };
    },
    isLocked: async () => ((await database.maybe(store.readState, [task.serviceId]))?.lock ?? null) !== null,
    unlock: async (id) =>
      (await database.maybe(store.unlockState, [deployment.id, deployment.fence, task.serviceId, id])) !== undefined,
  };
}

/** Returns whether a state kept by Davit contains no resources. A state that is stored elsewhere has to be queried. */
export async function isEmpty(context: StepContext, config: ReleaseConfig): Promise<boolean> {
  if (terraformOf(config).source.backend.kubernetes === undefined) return false;
  const text = await stateStore(context).read();
  if (text === null) return true;
  const state: { readonly resources?: readonly unknown[] } = JSON.parse(text);
  return (state.resources ?? []).length === 0;
}
