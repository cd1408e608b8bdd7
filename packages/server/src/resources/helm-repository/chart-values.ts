import { AppError, messageOf } from '@davit/base';
import type { Needs } from '../../deps.ts';
import { get, notUnderstood, refused, remoteSettings, type RemoteSettings } from '../../remote/get.ts';
import { openedCredentials, type Credentials } from '../shared/credentials.ts';
import { invalidReference } from '../shared/problems.ts';
import { readFromChart } from './archive.ts';
import { findChart, type ChartVersion } from './chart-index.ts';
import { basicAuthorization, indexTimeoutSeconds, openRegistry, readIndex, understood } from './charts.ts';
import { registryKinds } from './kinds.ts';
import * as store from './store.ts';

// Helm itself refuses larger archives by default since 3.17.
const maximumArchiveBytes = 20 * 1024 * 1024;
const chartLayer = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';

/** One version of a chart. `at`: its position in the request. */
export interface WantedChart extends ChartVersion {
  readonly repositoryId: string;
  readonly at: string;
}

/**
 * Returns the values.yaml from a chart's archive. Empty if the chart has none. Fails with INVALID_REFERENCE,
 * SOURCE_NOT_USABLE (no such chart), REMOTE_UNREACHABLE, REMOTE_REFUSED or REMOTE_NOT_UNDERSTOOD.
 */
export async function readChartValues(
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
  organizationId: string,
  wanted: WantedChart,
): Promise<string> {
  const row = await deps.database.maybe(store.helmRepositoryOpen, [organizationId, organizationId, wanted.repositoryId]);
  if (row === undefined) {
    throw invalidReference(
      `${wanted.at}.repository`,
      'is not the id of a Helm repository of this organization; create one first',
    );
  }
  const archive = await archiveOf(deps, row, wanted);
  if (archive === null) throw noSuchChart(wanted);
  try {
    return (await readFromChart(archive, 'values.yaml')) ?? '';
  } catch (error) {
    const reason = messageOf(error);
    throw notUnderstood(new URL(row.url), `the archive of ${wanted.name} ${wanted.version} cannot be read: ${reason}`, error);
  }
}

/**
 * Returns the archive of a chart version, for a deployment. Fails with NOT_FOUND, SOURCE_NOT_USABLE, or the errors of
 * the repository.
 */
export async function readChartArchive(deps: ChartDeps, repositoryId: string, { name, version }: ChartVersion): Promise<Buffer> {
  const row = await deps.database.maybe(store.helmRepositorySealed, [repositoryId]);
  if (row === undefined) {
    const message = 'The Helm repository of the chart no longer exists. Set source.helm_repository.repository to another one.';
    throw new AppError({ code: 'NOT_FOUND', message });
  }
  const wanted = { repositoryId, name, version, at: 'source.helm_repository' };
  const archive = await archiveOf(deps, row, wanted);
  if (archive === null) throw noSuchChart(wanted);
  return archive;
}

type ChartDeps = Needs<'database' | 'vault', 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>;

async function archiveOf(deps: ChartDeps, row: store.SealedRow, wanted: WantedChart): Promise<Buffer | null> {
  const credentials = openedCredentials(deps.vault, row.id, row);
  const settings = remoteSettings(deps.config, {
    skipTlsVerification: row.skip_tls_verification,
    timeoutSeconds: indexTimeoutSeconds,
  });
  return registryKinds[row.kind] === null
    ? indexedArchive(new URL(row.url), wanted, { credentials, settings })
    : registryArchive(deps, row, { credentials, settings, wanted });
}

interface Access {
  readonly credentials: Credentials;
  readonly settings: RemoteSettings;
}

async function indexedArchive(url: URL, wanted: WantedChart, { credentials, settings }: Access): Promise<Buffer | null> {
  const index = await readIndex(url, credentials, settings);
  const { name, version } = wanted;
  const location = await understood(index.url, () => findChart(index.body, { name, version }, settings.signal));
  if (location === null) return null;
  const [first = ''] = location.urls;
  if (!URL.canParse(first, index.url.href)) throw notUnderstood(index.url, `its index has no address for ${name} ${version}`);
  const archive = new URL(first, index.url);
  const answer = await get(
    {
      url: archive,
      accept: '*/*',
      // An index may refer to any server. The credentials are only for the repository.
      authorization: archive.origin === index.url.origin ? basicAuthorization(credentials) : undefined,
      maximumBytes: maximumArchiveBytes,
    },
    settings,
  );
  if (answer.status === 401 || answer.status === 403) throw refused(archive, `it refuses Davit access to ${name} ${version}`);
  if (answer.status !== 200) throw notUnderstood(archive, `it answered ${answer.status} to a request for ${name} ${version}`);
  return answer.body;
}

function registryArchive(
  deps: ChartDeps,
  row: store.HelmRepositoryRow,
  { wanted, ...access }: Access & { readonly wanted: WantedChart },
): Promise<Buffer | null> {
  const { client, repository } = openRegistry(deps, row, access);
  // A tag cannot contain the + of a version's build part. Helm replaces it by _.
  return client.layer(repository(wanted.name), wanted.version.replaceAll('+', '_'), chartLayer);
}

function noSuchChart({ name, version, at }: WantedChart): AppError {
  const message = `the repository has no ${version} of ${name}; its charts are listed by GET …/helmRepository/{helmRepositoryId}/charts`;
  return new AppError({
    code: 'SOURCE_NOT_USABLE',
    message: `${at}.chart_version: ${message}`,
    errors: [{ path: `${at}.chart_version`, message }],
  });
}
