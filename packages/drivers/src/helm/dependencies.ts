import { readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { load } from 'js-yaml';
import { DriverError } from '../errors.ts';

/*
 * A chart in a repository of git names other charts, which `helm dependency build` fetches. A packaged one has them inside.
 */

/** The http repositories of a chart's dependencies; null: it is packaged, or has none. HELM_CHART_INVALID. */
export async function dependencyRepositories(chart: string, root: string): Promise<readonly string[] | null> {
  if (!(await stat(chart)).isDirectory()) return null;
  const text = await readFile(join(chart, 'Chart.yaml'), 'utf8').catch((error: unknown) => {
    throw new DriverError({ cause: 'HELM_CHART_INVALID', message: 'there is no Chart.yaml in the folder of the chart', error });
  });
  const places = placesIn(text);
  for (const place of places) refuseOutside(place, chart, root);
  return places.length === 0 ? null : [...new Set(places.filter((place) => /^https?:\/\//.test(place)))];
}

/** `file://../common` is another folder of the repository; any other folder of this machine is not the chart's to read. */
function refuseOutside(place: string, chart: string, root: string): void {
  if (!place.startsWith('file:')) return;
  const path = resolve(chart, place.replace(/^file:\/\//, ''));
  if (path.startsWith(`${resolve(root)}${sep}`) && place.startsWith('file://..')) return;
  throw new DriverError({
    cause: 'HELM_CHART_INVALID',
    message: `the dependency at ${place} is not inside of the repository`,
    hint: 'Name it by a path from the folder of the chart, as in file://../common.',
  });
}

function placesIn(text: string): string[] {
  let chart: unknown;
  try {
    chart = load(text);
  } catch (error) {
    throw new DriverError({ cause: 'HELM_CHART_INVALID', message: 'the Chart.yaml is no YAML', error });
  }
  if (typeof chart !== 'object' || chart === null || !('dependencies' in chart) || !Array.isArray(chart.dependencies)) return [];
  return chart.dependencies.map((one: { readonly repository?: unknown } | null) =>
    typeof one?.repository === 'string' ? one.repository : '',
  );
}

/** Tells Helm of the repositories: it fetches from no others. */
export async function writeRepositories(path: string, urls: readonly string[]): Promise<void> {
  const repositories = urls.map((url, index) => ({ name: `dependency-${index}`, url }));
  await writeFile(path, JSON.stringify({ apiVersion: '', repositories }), { mode: 0o600 });
}
