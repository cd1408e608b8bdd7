import { isIPv4 } from 'node:net';
import { AppError } from '@davit/base';
import type { operations, Query, Response } from '@davit/contract';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { get, notUnderstood, refused, remoteSettings, type RemoteSettings } from '../../remote/get.ts';
import { RegistryClient } from '../../remote/registry-client.ts';
import { isVendorRegistry } from '../../vendors.ts';
import { registrySignIn } from '../container-registry/index.ts';
import { openedCredentials, type Credentials } from '../shared/credentials.ts';
import { invalid } from '../shared/problems.ts';
import { parseIndex, type Chart } from './chart-index.ts';
import { pathValues, type HelmRepositoryIds } from './helm-repository.ts';
import { registryKinds } from './kinds.ts';
import * as store from './store.ts';

type Charts = Response<(typeof operations)['getHelmCharts']>;
type ChartQuery = Query<(typeof operations)['getHelmCharts']>;

// The largest public repositories have indexes of about 20 MB.
const maximumIndexBytes = 48 * 1024 * 1024;
export const indexTimeoutSeconds = 30;

/**
 * Queries the repository itself for its charts, or for one of them. The versions of each chart are sorted, newest
 * first. For an unknown chart the result is empty. Fails with REMOTE_UNREACHABLE, REMOTE_REFUSED, REMOTE_NOT_UNDERSTOOD
 * or NOT_SUPPORTED.
 */
export async function listCharts(
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
  caller: Caller,
  ids: HelmRepositoryIds,
  { chartName }: ChartQuery,
): Promise<Charts> {
  const row = await deps.database.maybe(store.helmRepositoryOpen, pathValues(caller, ids));
  if (row === undefined) throw notFound('Helm repository');
  if (chartName !== undefined && !isChartName(chartName)) {
    throw invalid('chartName', 'must be the name of a chart, such as web or team/web: small letters, digits, . _ - /');
  }
  const credentials = openedCredentials(deps.vault, row.id, row);
  const settings = remoteSettings(deps.config, {
    skipTlsVerification: row.skip_tls_verification,
    timeoutSeconds: indexTimeoutSeconds,
  });
  const charts =
    registryKinds[row.kind] === null
      ? await indexedCharts(new URL(row.url), credentials, settings)
      : await registryCharts(deps, row, { credentials, settings, chartName });
  const results = charts.filter(({ name }) => chartName === undefined || name === chartName);
  return { results: results.map(({ name, versions }) => ({ chart_name: name, versions: [...versions] })) };
}

/** Returns the charts of the repository's index.yaml (Helm 3, "The Chart Repository Guide"). */
async function indexedCharts(url: URL, credentials: Credentials, settings: RemoteSettings): Promise<readonly Chart[]> {
  const index = await readIndex(url, credentials, settings);
  return understood(index.url, () => parseIndex(index.body, settings.signal));
}

/** Returns the result of `parse`. Fails with REMOTE_NOT_UNDERSTOOD if the text is not an index. */
export async function understood<Answer>(index: URL, parse: () => Promise<Answer>): Promise<Answer> {
  try {
    return await parse();
  } catch (error) {
    throw notUnderstood(index, `${index.pathname} is not the index of a Helm repository, or too large to be read`, error);
  }
}

/**
 * Downloads the index.yaml of a repository. `url` is the URL of the request. Fails with REMOTE_UNREACHABLE,
 * REMOTE_REFUSED or REMOTE_NOT_UNDERSTOOD.
 */
export async function readIndex(
  url: URL,
  credentials: Credentials,
  settings: RemoteSettings,
): Promise<{ readonly url: URL; readonly body: Buffer }> {
  const index = new URL(`${url.origin}${url.pathname.replace(/\/+$/, '')}/index.yaml`);
  const answer = await get(
    {
      url: index,
      accept: 'application/yaml, text/yaml, */*',
      authorization: basicAuthorization(credentials),
      maximumBytes: maximumIndexBytes,
    },
    settings,
  );
  if (answer.status === 401 || answer.status === 403) throw refused(index, 'the credentials in config do not permit reading it');
  if (answer.status === 404)
    throw notUnderstood(index, `there is no ${index.pathname}, so the url is not that of a Helm repository`);
  if (answer.status !== 200) throw notUnderstood(index, `it answered ${answer.status} to a request for ${index.pathname}`);
  return { url: index, body: answer.body };
}

export function basicAuthorization({ username, password }: Credentials): string | undefined {
  if (username === undefined || password === undefined) return undefined;
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}

interface RegistryQuestion {
  readonly credentials: Credentials;
  readonly settings: RemoteSettings;
  readonly chartName: string | undefined;
}

async function registryCharts(
  deps: Needs<never, 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
  row: store.HelmRepositoryRow,
  { credentials, settings, chartName }: RegistryQuestion,
): Promise<readonly Chart[]> {
  if (chartName === undefined) {
    const message =
      'An OCI registry does not list which of its repositories are charts. Name one with the query parameter chartName.';
    throw new AppError({ code: 'NOT_SUPPORTED', message });
  }
  const { client, repository } = openRegistry(deps, row, { credentials, settings });
  const tags = await client.tags(repository(chartName));
  // A tag cannot contain the + of a version's build part. Helm replaces it by _.
  return tags === null ? [] : [{ name: chartName, versions: newestFirst(tags.map((tag) => tag.replaceAll('_', '+'))) }];
}

/** Returns a client for a registry that contains charts. `repository` returns the name of a chart in the API. */
export function openRegistry(
  deps: Needs<never, 'allowHttpRegistries' | 'vendorRegistries'>,
  row: store.HelmRepositoryRow,
  { credentials, settings }: { readonly credentials: Credentials; readonly settings: RemoteSettings },
): { readonly client: RegistryClient; readonly repository: (chartName: string) => string } {
  const kind = registryKinds[row.kind] ?? 'GENERIC_CR';
  const url = new URL(row.url);
  const vendor = isVendorRegistry(kind) ? deps.config.vendorRegistries[kind] : null;
  const scheme = deps.config.allowHttpRegistries && isLoopback(url.hostname) ? 'http' : 'https';
  const api = new URL(vendor === null ? `${scheme}://${url.host}` : (vendor.api ?? vendor.url));
  const client = new RegistryClient({ api, credentials: registrySignIn(kind, credentials), settings });
  const folder = url.pathname.replace(/^\/+|\/+$/g, '');
  return { client, repository: (chartName) => (folder === '' ? chartName : `${folder}/${chartName}`) };
}

const byNumbers = new Intl.Collator('en', { numeric: true });

function newestFirst(versions: readonly string[]): string[] {
  return versions.toSorted((a, b) => byNumbers.compare(b, a));
}

// Container engines do the same: they accept HTTP only for registries of their own machine.
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}

function isChartName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/.test(name);
}
