import { lstat, mkdir, readdir, realpath, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isAppError } from '@davit/base';
import { DriverError, type HelmInstall, type HelmValues } from '@davit/drivers';
import { chartSourceOf } from './plan.ts';
import type { HelmReleaseSource, ReleaseConfig } from '../../model.ts';
import type { EngineParts } from '../../shared/parts.ts';
import { isDatabaseUnreachable } from '../../shared/retry-policy.ts';
import { inOwnWords } from './values.ts';
import * as store from '../../store/helm.ts';
import { checkoutFolder } from '../../steps/image.ts';
import { sourceAt } from '../../steps/source.ts';
import { configOf, driverSet, ownerOf, type StepContext } from '../../steps/step.ts';
import { joined, secretIds } from '../../workload/workload.ts';

/*
 * Fetches a chart and its values to this machine. Both are pinned, by commit and version, when they are first fetched:
 * a runner that resumes after a crash, and a rollback, use the same ones.
 */

const largestValuesLength = 1024 * 1024;
const packaged = 'chart.tgz';

export function helmOf(config: ReleaseConfig): HelmReleaseSource {
  const source = chartSourceOf(config);
  if (source === null) throw new Error(`${config.name} is not a Helm chart`);
  return source;
}

/** Fetches the chart, and resolves the commit of its values. Fails with HELM_CHART_UNAVAILABLE, GIT_…. */
export async function fetchChart(context: StepContext): Promise<void> {
  const { task, call, journal } = context;
  const source = helmOf(configOf(task));
  const { git, chart } = source;
  if (git !== null) await checkoutChart(context, git);
  else if (chart !== null) await download(context, chart);
  const values = source.values.file?.git ?? null;
  if (values !== null && task.valuesCommit === null) {
    task.valuesCommit = await driverSet(context).source.resolve(await valuesSource(context, values.git_repository), call);
    call.log(`The values are from commit ${task.valuesCommit.slice(0, 12)}.`);
  }
  const commit = task.commit === null ? null : JSON.stringify(task.commit);
  await journal.writeAny(store.setChartCommits, [task.releaseId, commit, task.valuesCommit]);
}

async function checkoutChart(context: StepContext, git: NonNullable<HelmReleaseSource['git']>): Promise<void> {
  const { task, call } = context;
  const source = await sourceAt(context, git);
  const driver = driverSet(context).source;
  const id = task.commit?.id ?? (await driver.resolve(source, call));
  const root = join(checkoutFolder(context), 'source');
  task.commit = await driver.checkout({ ...source, commit: id }, root, call);
  await refuseLinksOutside(root);
  call.log(`Fetched commit ${id.slice(0, 12)}: ${task.commit.message?.split('\n', 1)[0] ?? ''}`);
}

async function download(context: StepContext, chart: NonNullable<HelmReleaseSource['chart']>): Promise<void> {
  const { parts, call } = context;
  const { repository, chart_name: name, chart_version: version } = chart;
  const archive = await parts.hooks.helmChart?.(repository, { name, version }).catch((error: unknown) => {
    if (!isAppError(error) || isDatabaseUnreachable(error)) throw error;
    throw new DriverError({
      cause: 'HELM_CHART_UNAVAILABLE',
      message: error.message,
      retryable: error.code === 'REMOTE_UNREACHABLE',
      error,
    });
  });
  if (archive === undefined) throw new Error('nothing fetches charts');
  const folder = checkoutFolder(context);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, packaged), archive, { mode: 0o600 });
  call.log(`Fetched ${name} ${version}.`);
}

/**
 * Fails if a link leads outside of the chart. Helm follows links, and a chart's templates may print files of the chart,
 * so no file of this machine must be among them.
 */
async function refuseLinksOutside(root: string): Promise<void> {
  const real = await realpath(root);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const target = await realpath(path).catch(() => null);
    if (target !== null && (target === real || target.startsWith(`${real}${sep}`))) continue;
    throw new DriverError({
      cause: 'HELM_CHART_INVALID',
      message: `${path.slice(root.length + 1)} is a link that points outside the repository, or to nothing`,
      hint: 'Remove the link from the repository, or put the file itself there.',
    });
  }
}

/** Returns whether the chart that the task needs is on this machine. */
export async function isFetched(context: StepContext): Promise<boolean> {
  const folder = checkoutFolder(context);
  const path = helmOf(configOf(context.task)).git === null ? join(folder, packaged) : join(folder, 'source');
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Returns the input for Helm: the fetched chart with its values. */
export async function installOf(context: StepContext): Promise<HelmInstall> {
  const { task, parts } = context;
  const config = configOf(task);
  const source = helmOf(config);
  const folder = checkoutFolder(context);
  const { set, set_string: setString, set_json: setJson } = source.values;
  const reference = parts.settings.clientTexts?.chartReference ?? null;
  const root = source.git === null ? folder : join(folder, 'source');
  return {
    chart: source.git === null ? join(folder, packaged) : join(root, source.git.rootPath),
    root,
    values: inOwnWords(reference, {
      files: await valueFiles(context, source),
      set: set.map(pairOf),
      setString: setString.map(pairOf),
      setJson: setJson.map(pairOf),
    }),
    variables: await variablesOf(config, parts),
    arguments: source.arguments,
    labels: labelsOf(context),
  };
}

const pairOf = ([name = '', value = '']: readonly string[]): readonly [string, string] => [name, value];

async function variablesOf(
  config: ReleaseConfig,
  { hooks, kinds }: Pick<EngineParts, 'hooks' | 'kinds'>,
): Promise<ReadonlyMap<string, string>> {
  const secrets = await hooks.secrets(secretIds(kinds, config));
  // Nothing is mounted into a chart. A variable of the type FILE is therefore replaced by the content of its file.
  const files = new Map(config.files.map(({ path, parts }) => [path, joined(parts, secrets, path)]));
  return new Map(
    config.environment.map(({ name, parts }) => {
      const value = joined(parts, secrets, name);
      return [name, files.get(value) ?? value];
    }),
  );
}

async function valueFiles(context: StepContext, { values: { file } }: HelmReleaseSource): Promise<HelmValues['files']> {
  const raw = file?.raw?.values ?? [];
  const git = file?.git ?? null;
  const { valuesCommit: commit } = context.task;
  if (git === null || commit === null) return raw;
  const source = await valuesSource(context, git.git_repository);
  const wanted = { rootPath: git.git_repository.root_path, paths: git.paths };
  const texts = await driverSet(context).source.files({ ...source, commit }, wanted, context.call);
  const files = git.paths.map((name, index) => {
    const content = texts[index] ?? null;
    if (content !== null && content.length <= largestValuesLength) return { name, content };
    throw new DriverError({
      cause: 'HELM_VALUES_INVALID',
      message: `there is no file ${name} of at most ${largestValuesLength / 1024} KiB in the repository of the values at commit ${commit.slice(0, 12)}`,
    });
  });
  return [...files, ...raw];
}

type ValuesRepository = NonNullable<NonNullable<HelmReleaseSource['values']['file']>['git']>['git_repository'];

function valuesSource(context: StepContext, repository: ValuesRepository): ReturnType<typeof sourceAt> {
  const { url, branch, git_token_id: gitTokenId } = repository;
  return sourceAt(context, { url, branch, gitTokenId });
}

/** Returns the labels that are on everything that Davit creates. The objects themselves belong to the chart. */
function labelsOf(context: StepContext): Record<string, string> {
  const { installation, organization, project, environment, service } = ownerOf(context);
  const { rollout, releaseId } = context.task;
  const labels = { installation, organization, project, environment, service, rollout, release: releaseId ?? '' };
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`davit.${name}`, value]));
}
