import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml';
import { DriverError } from '../errors.ts';

/*
 * A chart in a git repository names other charts, which `helm dependency build` fetches. A packaged chart contains
 * them, and Helm fetches nothing for those that are unpacked in charts/.
 * Four files name them. Helm merges requirements.yaml over Chart.yaml whatever the chart's version is. Helm fetches the
 * charts in the lock file, whose digest its author can compute. Each file is parsed here as a narrow subset of YAML and
 * written back as JSON, so that Helm cannot interpret it differently.
 */

const files = ['Chart.yaml', 'requirements.yaml', 'Chart.lock', 'requirements.lock'] as const;
const schema = CORE_SCHEMA.withTags(mergeTag);

interface Dependency {
  readonly name: string;
  readonly location: string;
}

/**
 * Returns the http repositories of a chart's dependencies; null if the chart is packaged or has none. Fails with
 * HELM_CHART_INVALID.
 */
export async function dependencyRepositories(chart: string, root: string): Promise<readonly string[] | null> {
  if (!(await stat(chart)).isDirectory()) return null;
  const found = await Promise.all(files.map((file) => readDependencies(join(chart, file), file)));
  const [all, wanted] = [found.flat(), found.slice(0, 2).flat()];
  for (const one of all) refuseOutside(one, chart, root);
  return wanted.length === 0
    ? null
    : [...new Set(all.map(({ location }) => location).filter((location) => /^https?:\/\//.test(location)))];
}

/**
 * Refuses dependencies outside the repository. `file://../common` is another folder of the repository; the chart must
 * not read any other folder of this machine.
 */
function refuseOutside({ name, location }: Dependency, chart: string, root: string): void {
  // Without a repository, the dependency is a folder of that name in charts/.
  if (!/^[\w.-]*$/.test(name) || name === '.' || name === '..')
    throw invalid(`the dependency ${JSON.stringify(name)} is not a valid name of a chart`);
  // `@…` and `alias:…` refer to a configured repository; this Helm has none.
  if (location === '' || /^(?:https?|oci):\/\/|^@|^alias:/.test(location)) return;
  const path = resolve(chart, location.replace(/^file:\/\//, ''));
  if (/^file:\/\/[^/]/.test(location) && path.startsWith(`${resolve(root)}${sep}`)) return;
  throw new DriverError({
    cause: 'HELM_CHART_INVALID',
    message: `the dependency at ${location} is outside the repository`,
    hint: 'Name it by a path from the folder of the chart, as in file://../common, or by an address with https:// or oci://.',
  });
}

async function readDependencies(path: string, file: (typeof files)[number]): Promise<Dependency[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (file !== 'Chart.yaml' && isMissing(error)) return null;
    throw new DriverError({ cause: 'HELM_CHART_INVALID', message: `there is no ${file} in the folder of the chart`, error });
  });
  if (text === null) return [];
  const content = contentOf(text, file);
  if (content === null) return [];
  const found = entriesOf(content, 'dependencies').flatMap((list) => {
    if (list === null) return [];
    if (!Array.isArray(list)) throw invalid(`the dependencies in ${file} are not a list`);
    return list.flatMap((one: unknown) =>
      isMap(one) ? dependenciesIn(one, file) : refused(`a dependency in ${file} is not an object`),
    );
  });
  // Replaced atomically: a run that is killed here leaves a chart that the next run can read.
  const written = `${path}.davit`;
  await writeFile(written, JSON.stringify(content));
  await rename(written, path);
  return found;
}

/**
 * Returns every dependency that Helm might read from an entry: Helm also accepts field names in upper case, and the
 * last one wins.
 */
function dependenciesIn(entry: object, file: string): Dependency[] {
  const [names, locations] = ['name', 'repository'].map((field) =>
    entriesOf(entry, field).map((value) => {
      if (value === null || typeof value === 'string') return value ?? '';
      throw invalid(`the ${field} of a dependency in ${file} is not a string`);
    }),
  );
  const all = locations === undefined || locations.length === 0 ? [''] : locations;
  return all.flatMap((location) => (names?.length ? names : ['']).map((name) => ({ name, location: location })));
}

/**
 * Returns the values of a field as encoding/json of Go finds it: it ignores case, and accepts characters that fold to
 * these letters.
 */
function entriesOf(content: object, field: string): unknown[] {
  // In quotes, `<<` is not a merge key for this parser.
  if (Object.hasOwn(content, '<<')) throw invalid('a field is named <<');
  return Object.entries(content).flatMap(([name, value]) => (name.toUpperCase().toLowerCase() === field ? [value] : []));
}

function contentOf(text: string, file: string): object | null {
  let contents: unknown[];
  try {
    contents = loadAll(text, { schema });
  } catch (error) {
    throw new DriverError({ cause: 'HELM_CHART_INVALID', message: `the ${file} is not valid YAML`, error });
  }
  const [content] = contents;
  if (contents.length > 1) throw invalid(`the ${file} has several documents`);
  if (content === undefined || content === null) return null;
  return isMap(content) ? content : refused(`the ${file} is not an object`);
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function refused(message: string): never {
  throw invalid(message);
}

function invalid(message: string): DriverError {
  return new DriverError({ cause: 'HELM_CHART_INVALID', message });
}

/** Writes the list of repositories for Helm, which fetches from no others. */
export async function writeRepositories(path: string, urls: readonly string[]): Promise<void> {
  const repositories = urls.map((url, index) => ({ name: `dependency-${index}`, url }));
  await writeFile(path, JSON.stringify({ apiVersion: '', repositories }), { mode: 0o600 });
}
