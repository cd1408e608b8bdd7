import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml';
import { DriverError } from '../errors.ts';

/*
 * A chart in a repository of git names other charts, which `helm dependency build` fetches. A packaged one has them inside, and Helm fetches
 * nothing for those that are unpacked in charts/.
 *
 * Four files name them: Helm lays requirements.yaml over Chart.yaml whatever the chart's version is, and fetches what the lock says, whose digest
 * its author can compute. Each is read here in a narrow YAML and written back as JSON, so that Helm cannot read anything else in it.
 */

const files = ['Chart.yaml', 'requirements.yaml', 'Chart.lock', 'requirements.lock'] as const;
const schema = CORE_SCHEMA.withTags(mergeTag);

interface Dependency {
  readonly name: string;
  readonly place: string;
}

/** The http repositories of a chart's dependencies; null: it is packaged, or has none. HELM_CHART_INVALID. */
export async function dependencyRepositories(chart: string, root: string): Promise<readonly string[] | null> {
  if (!(await stat(chart)).isDirectory()) return null;
  const found = await Promise.all(files.map((file) => readDependencies(join(chart, file), file)));
  const [all, wanted] = [found.flat(), found.slice(0, 2).flat()];
  for (const one of all) refuseOutside(one, chart, root);
  return wanted.length === 0 ? null : [...new Set(all.map(({ place }) => place).filter((place) => /^https?:\/\//.test(place)))];
}

/** `file://../common` is another folder of the repository; any other folder of this machine is not the chart's to read. */
function refuseOutside({ name, place }: Dependency, chart: string, root: string): void {
  // Without a place it is a folder of that name in charts/.
  if (!/^[\w.-]*$/.test(name) || name === '.' || name === '..')
    throw invalid(`the dependency ${JSON.stringify(name)} has no name of a chart`);
  // Those with a name instead are none that Helm knows here.
  if (place === '' || /^(?:https?|oci):\/\/|^@|^alias:/.test(place)) return;
  const path = resolve(chart, place.replace(/^file:\/\//, ''));
  if (/^file:\/\/[^/]/.test(place) && path.startsWith(`${resolve(root)}${sep}`)) return;
  throw new DriverError({
    cause: 'HELM_CHART_INVALID',
    message: `the dependency at ${place} is not inside of the repository`,
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
    if (!Array.isArray(list)) throw invalid(`the dependencies in ${file} are no list`);
    return list.flatMap((one: unknown) =>
      isMap(one) ? dependenciesIn(one, file) : refused(`a dependency in ${file} is no object`),
    );
  });
  // At once: a run that is killed here leaves a chart that the next one reads.
  const written = `${path}.davit`;
  await writeFile(written, JSON.stringify(content));
  await rename(written, path);
  return found;
}

/** Every one that Helm may take an entry for: it takes the names of fields in capitals, too, and the last one counts. */
function dependenciesIn(entry: object, file: string): Dependency[] {
  const [names, places] = ['name', 'repository'].map((field) =>
    entriesOf(entry, field).map((value) => {
      if (value === null || typeof value === 'string') return value ?? '';
      throw invalid(`the ${field} of a dependency in ${file} is no text`);
    }),
  );
  const all = places === undefined || places.length === 0 ? [''] : places;
  return all.flatMap((place) => (names?.length ? names : ['']).map((name) => ({ name, place })));
}

/** The values of a field as encoding/json of Go finds it: with other cases of its letters, and signs that fold to them. */
function entriesOf(content: object, field: string): unknown[] {
  // One in quotes is no merge here.
  if (Object.hasOwn(content, '<<')) throw invalid('a field is called <<');
  return Object.entries(content).flatMap(([name, value]) => (name.toUpperCase().toLowerCase() === field ? [value] : []));
}

function contentOf(text: string, file: string): object | null {
  let contents: unknown[];
  try {
    contents = loadAll(text, { schema });
  } catch (error) {
    throw new DriverError({ cause: 'HELM_CHART_INVALID', message: `the ${file} is no YAML`, error });
  }
  const [content] = contents;
  if (contents.length > 1) throw invalid(`the ${file} has several documents`);
  if (content === undefined || content === null) return null;
  return isMap(content) ? content : refused(`the ${file} is no object`);
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

/** Tells Helm of the repositories: it fetches from no others. */
export async function writeRepositories(path: string, urls: readonly string[]): Promise<void> {
  const repositories = urls.map((url, index) => ({ name: `dependency-${index}`, url }));
  await writeFile(path, JSON.stringify({ apiVersion: '', repositories }), { mode: 0o600 });
}
