import type { Body, operations } from '@davit/contract';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { openEnvironment } from '../environment/index.ts';
import { readChartValues } from '../helm-repository/index.ts';
import { toChart } from '../service/index.ts';
import { invalid, Problems } from '../shared/problems.ts';
import { notUsable, readFiles } from './source-check.ts';

type Source = Body<(typeof operations)['createHelmDefaultValues']>['source'];

/**
 * Returns the values.yaml of a chart unchanged, with its comments. Returns an empty text if the chart has none. Fails
 * with:
 * - SOURCE_NOT_USABLE: there is no such chart.
 * - VALIDATION_FAILED or INVALID_REFERENCE.
 * - REMOTE_UNREACHABLE, REMOTE_REFUSED or REMOTE_NOT_UNDERSTOOD.
 */
export async function readDefaultValues(
  deps: Needs<
    'database' | 'engine' | 'vault',
    'allowHttpRegistries' | 'allowLocalRepositories' | 'allowPrivateTargets' | 'vendorRegistries'
  >,
  caller: Caller,
  environmentId: string,
  source: Source,
): Promise<string> {
  const { git_repository: git, helm_repository: chart } = source;
  if (git && chart) throw invalid('source', 'must have exactly one of git_repository and helm_repository; both are set');
  if (git) {
    const at = 'source.git_repository';
    const files = ['Chart.yaml', 'values.yaml'].map((path) => ({ path, at: `${at}.root_path` }));
    const [head, values] = await readFiles(deps, caller, environmentId, { repository: git, files, at });
    if (typeof head === 'string') return values ?? '';
    throw notUsable(`${at}.root_path`, 'CHART_MISSING', 'There is no Chart.yaml there, so it is not a Helm chart.');
  }
  if (!chart) throw invalid('source', 'must have exactly one of git_repository and helm_repository; none of them is set');
  const { organizationId } = await openEnvironment(deps.database, caller, environmentId, 'read');
  const problems = new Problems();
  const { repository, chart_name: name, chart_version: version } = toChart(chart, null, problems);
  problems.throwIfAny();
  return readChartValues(deps, organizationId, { repositoryId: repository, name, version, at: 'source.helm_repository' });
}
