import { Sensitive } from '@davit/base';
import type { StateAccess, TerraformEngine, TerraformRun } from '../../terraform-driver.ts';
import { stateVariables } from '../../terraform-state.ts';
import type { Workload } from '../../workload.ts';
import { limitVariables } from '../../shared/command.ts';
import { argumentVariables, commonVariables } from '../commands.ts';
import { runFolder, supervisor } from './supervisor.ts';

/** Images by engine. They contain `sh`, `git` and the program in the PATH. */
export type TerraformImages = Readonly<Record<TerraformEngine, string>>;

/** The images of `docs/terraform.md`, with the versions that this was tested with. */
export const defaultImages: TerraformImages = {
  TERRAFORM: 'docker.io/hashicorp/terraform:1.11',
  OPEN_TOFU: 'ghcr.io/opentofu/opentofu:1.9',
};

export const programs: Readonly<Record<TerraformEngine, string>> = { TERRAFORM: 'terraform', OPEN_TOFU: 'tofu' };

const commands = ['init', 'plan', 'apply', 'destroy', 'output', 'show', 'state'];
/** Number of retries, some ten minutes altogether. The API may be unreachable for that long before a state is lost. */
const stateAttempts = 24;
const longestPauseSeconds = 30;
const readyTimeoutSeconds = 60;

/** Returns the image of a run. A requested version replaces its tag, unless the image is named by its digest. Pure. */
export function imageOf({ engine, version }: Pick<TerraformRun, 'engine' | 'version'>, images: TerraformImages): string {
  const image = images[engine];
  if (version === null || image.includes('@')) return image;
  return `${image.replace(/:[^/:]+$/, '')}:${version}`;
}

/**
 * Returns the workload of a run on a cluster, which waits for its commands. `state` is null if the state is not stored
 * in Davit. Pure.
 */
export function toRunWorkload(
  run: TerraformRun,
  image: string,
  state: (StateAccess & { readonly address: string }) | null,
): Workload {
  const { cpuMillicores, memoryMiB, storageGiB, graceSeconds } = run.limits;
  const environment = {
    ...run.environment,
    ...commonVariables(runFolder),
    ...limitVariables(run.limits),
    ...Object.assign({}, ...commands.map((command) => argumentVariables(run, command))),
    ...(state !== null && stateVariablesOf(state)),
  };
  return {
    owner: run.owner,
    name: run.name,
    release: run.release,
    rollout: run.id,
    image,
    entrypoint: ['/bin/sh', '-c', supervisor, 'davit', run.id],
    arguments: [],
    environment: Object.entries(environment).map(([name, value]) => ({ name, value: new Sensitive(String(value)) })),
    files: run.files.map(({ path, content }) => ({ path, content: new Sensitive(content) })),
    ports: [],
    folders: [runFolder],
    folderGiB: storageGiB,
    volumes: [],
    cpuMillicores,
    memoryMiB,
    instances: 1,
    hostnames: [],
    readiness: null,
    liveness: null,
    readyTimeoutSeconds,
    terminationGraceSeconds: graceSeconds,
    runsOnce: true,
    runsAsAnyUser: true,
  };
}

function stateVariablesOf({ address, path, password }: StateAccess & { readonly address: string }): Record<string, string> {
  const url = `${address.replace(/\/+$/, '')}${path}`;
  return stateVariables(url, { password, attempts: stateAttempts, longestPauseSeconds });
}
