import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import { credentialProviders, type operations, type Query, type Response } from '@davit/contract';
import { isForeignKeyViolation, type Queryable } from '@davit/db';
import { notFound } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import { vendorOf } from '../../catalogue/catalogue.ts';
import type { Needs } from '../../deps.ts';
import { toFeature } from '../cloud-catalogue/index.ts';
import { findCredentials } from '../cloud-credentials/index.ts';
import { checkManagedCluster, readOrganization } from '../organization/index.ts';
import { inUse, refuseTakenName } from '../shared/naming.ts';
import { invalid, invalidReference } from '../shared/problems.ts';
import { changeCluster, findCluster, isLocal, openCluster, type ClusterIds } from './cluster-ids.ts';
import * as request from './request.ts';
import { answerOf, isConnected, readClusters, stateOf } from './status.ts';
import * as store from './store.ts';

type Clusters = Response<(typeof operations)['listOrganizationCluster']>;
type Cluster = Clusters['results'][number];
type Environments = Response<(typeof operations)['getEnvironmentsByClusterId']>;
type ProviderInfo = Response<(typeof operations)['getOrganizationCloudProviderInfo']>;

export async function listClusters(
  deps: Needs<'database' | 'engine' | 'catalogue'>,
  caller: Caller,
  organizationId: string,
): Promise<Clusters> {
  const rows = await readClusters(deps, caller, organizationId);
  return { results: await Promise.all(rows.map((row) => toCluster(deps, row))) };
}

/**
 * Creates the record of a cluster. The vendor is not contacted. Fails with NOT_FOUND, VALIDATION_FAILED,
 * INVALID_REFERENCE or NAME_TAKEN, and for a managed cluster with BILLING_RESTRICTION.
 */
export async function createCluster(
  deps: Needs<'database' | 'engine' | 'catalogue'>,
  caller: Caller,
  organizationId: string,
  body: request.ClusterRequest,
): Promise<Cluster> {
  const organization = await readOrganization(deps, caller, organizationId);
  const kubernetes = body.kubernetes ?? request.defaultKubernetes(body.cloud_provider);
  const kind = { provider: body.cloud_provider, kubernetes, region: body.region };
  const spec = request.specOf(body);
  request.checkRequest(deps.catalogue, kind, spec);
  if (kubernetes === 'MANAGED') checkManagedCluster(organization.billing_deployment_restriction ?? null);
  const wanted = { info: body.cloud_provider_credentials, path: 'cloud_provider_credentials' };
  const credentialsId = (await request.wantedCredentials(deps.database, { ...kind, organizationId }, wanted)) ?? null;
  const values = [
    organizationId,
    caller.organizationId,
    randomUUID(),
    body.name,
    body.description ?? '',
    body.region,
    body.cloud_provider,
    kubernetes,
    body.production ?? false,
    JSON.stringify(spec),
    credentialsId,
  ];
  const row = await writing({ name: body.name, path: 'cloud_provider_credentials.' }, () =>
    deps.database.transaction(async (tx) => {
      await request.shareReferences(tx, organizationId, body);
      return tx.maybe(store.clusterCreate, values);
    }),
  );
  if (row === undefined) throw notFound('organization');
  return toCluster(deps, row);
}

/**
 * Edits a cluster. Fields that the request omits stay. Vendor and kind of Kubernetes cannot change. Fails like
 * `createCluster`, and with CLUSTER_LOCKED.
 */
export async function editCluster(
  deps: Needs<'database' | 'engine' | 'catalogue'>,
  caller: Caller,
  ids: ClusterIds,
  body: request.ClusterRequest,
): Promise<Cluster> {
  const row = await writing({ name: body.name, path: 'cloud_provider_credentials.' }, () =>
    deps.database.transaction(async (tx) => {
      const stored = await changeCluster(tx, caller, ids);
      if (body.cloud_provider !== stored.cloud_provider) throw invalid('cloud_provider', `must stay ${stored.cloud_provider}`);
      if (body.kubernetes !== undefined && body.kubernetes !== stored.kubernetes) {
        throw invalid('kubernetes', `must stay ${stored.kubernetes}`);
      }
      if (isLocal(stored) && body.region !== stored.region)
        throw invalid('region', `must stay ${stored.region}: the cluster is this machine`);
      const kind = { provider: stored.cloud_provider, kubernetes: stored.kubernetes, region: body.region };
      const spec = request.specOf(body, stored.spec);
      request.checkRequest(deps.catalogue, kind, spec);
      const wanted = { info: body.cloud_provider_credentials, path: 'cloud_provider_credentials' };
      const credentials = await request.wantedCredentials(tx, { ...kind, organizationId: stored.organization_id }, wanted);
      await request.shareReferences(tx, stored.organization_id, body);
      return write(tx, stored, {
        name: body.name,
        description: body.description === undefined ? stored.description : (body.description ?? ''),
        region: body.region,
        production: body.production ?? stored.production,
        spec,
        credentials_id: credentials === undefined ? stored.credentials_id : credentials,
      });
    }),
  );
  return toCluster(deps, row);
}

type Editable = Pick<store.ClusterRow, 'name' | 'description' | 'region' | 'production' | 'spec' | 'credentials_id'>;

function write(tx: Queryable, { id }: store.ClusterRow, to: Editable): Promise<store.ClusterRow> {
  const spec = JSON.stringify(to.spec);
  return tx.one(store.clusterEdit, [id, to.name, to.description, to.region, to.production, spec, to.credentials_id]);
}

type DeleteMode = NonNullable<Query<(typeof operations)['deleteCluster']>['deleteMode']>;

/**
 * Deletes a cluster. Fails with CLUSTER_IS_DEFAULT, CLUSTER_LOCKED or IN_USE. IN_USE names the environments of the
 * cluster, and the environments that were moved to another cluster and left something (volumes) behind. Environments
 * must be deleted first, which also removes their deployed services from the cluster. With DELETE_SERVICE_CONFIG, the
 * remains of moved environments stay on the cluster, and Davit forgets them.
 */
export async function deleteCluster(
  deps: Needs<'database'>,
  caller: Caller,
  ids: ClusterIds,
  mode: DeleteMode = 'DEFAULT',
): Promise<void> {
  try {
    await deps.database.transaction(async (tx) => {
      const row = await changeCluster(tx, caller, ids);
      if (row.is_default) throw isDefault(row);
      const names = (await tx.many(store.clusterEnvironmentNames, [row.id])).map(({ name }) => name);
      if (names.length > 0) throw inUse('The cluster', { noun: 'the environments', names });
      const left =
        mode === 'DELETE_SERVICE_CONFIG' ? [] : (await tx.many(store.clusterLeftovers, [row.driver])).map(({ name }) => name);
      if (left.length > 0) throw inUse('The cluster', { noun: 'remaining volumes of the environments', names: left });
      await tx.run(store.clusterForget, [row.driver]);
      await tx.run(store.clusterDelete, [row.id]);
    });
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error;
    // An environment was created on the cluster at the same moment. The second attempt sees it.
    await deleteCluster(deps, caller, ids, mode);
  }
}

function isDefault({ name }: store.ClusterRow): AppError {
  return new AppError({
    code: 'CLUSTER_IS_DEFAULT',
    message: `The cluster ${name} is the default one of its organization, which environments without a cluster are put on. It cannot be deleted.`,
  });
}

export async function listClusterEnvironments(deps: Needs<'database'>, caller: Caller, clusterId: string): Promise<Environments> {
  await findCluster(deps.database, caller, clusterId);
  return { results: await deps.database.many(store.clusterEnvironments, [clusterId]) };
}

export async function readProviderInfo(deps: Needs<'database'>, caller: Caller, ids: ClusterIds): Promise<ProviderInfo> {
  return toProviderInfo(deps.database, await openCluster(deps.database, caller, ids));
}

/** Sets region and credentials. Fails with VALIDATION_FAILED, INVALID_REFERENCE or CLUSTER_LOCKED. */
export async function specifyProviderInfo(
  deps: Needs<'database' | 'catalogue'>,
  caller: Caller,
  ids: ClusterIds,
  info: request.ProviderInfoRequest,
): Promise<ProviderInfo> {
  return writing({ name: '', path: '' }, () =>
    deps.database.transaction(async (tx) => {
      const stored = await changeCluster(tx, caller, ids);
      const region = info.region ?? stored.region;
      if (isLocal(stored) && region !== stored.region)
        throw invalid('region', `must stay ${stored.region}: the cluster is this machine`);
      const kind = { provider: stored.cloud_provider, kubernetes: stored.kubernetes, region };
      request.checkRequest(deps.catalogue, kind, stored.spec);
      const cluster = { ...kind, organizationId: stored.organization_id };
      const credentials = await request.wantedCredentials(tx, cluster, { info, path: '' });
      const credentials_id = credentials === undefined ? stored.credentials_id : credentials;
      return toProviderInfo(tx, await write(tx, stored, { ...stored, region, credentials_id }));
    }),
  );
}

async function toProviderInfo(database: Queryable, row: store.ClusterRow): Promise<ProviderInfo> {
  const { credentials_id: id, organization_id, cloud_provider, region } = row;
  const credentials = id === null ? null : await findCredentials(database, organization_id, id);
  const provider = credentialProviders.find((one) => one === cloud_provider);
  return {
    region,
    ...(provider === undefined ? {} : { cloud_provider: provider }),
    ...(credentials === null ? {} : { credentials: { id: credentials.id, name: credentials.name } }),
  };
}

async function writing<Result>(
  { name, path }: { readonly name: string; readonly path: string },
  write: () => Promise<Result>,
): Promise<Result> {
  const where = 'in this organization';
  try {
    return await refuseTakenName({ index: 'cluster_name', noun: 'cluster', name, where }, write);
  } catch (error) {
    if (!isForeignKeyViolation(error, 'cluster_credentials_id_fkey')) throw error;
    // The credentials were deleted at the same moment.
    throw invalidReference(`${path}credentials.id`, 'names no credentials of this organization');
  }
}

async function toCluster(deps: Needs<'engine' | 'catalogue'>, row: store.ClusterRow): Promise<Cluster> {
  const state = await answerOf(deps, row);
  const facts = state?.facts ?? null;
  const { features, ssh_keys, instance_type, labels_groups, ...others } = row.spec;
  const { id, created_at, updated_at, name, region, cloud_provider, kubernetes, is_default, is_demo, production } = row;
  return {
    id,
    created_at,
    updated_at,
    name,
    region,
    cloud_provider,
    kubernetes,
    is_default,
    is_demo,
    production,
    description: row.description,
    organization: { id: row.organization_id },
    ...others,
    ...(typeof instance_type === 'string' ? { instance_type } : {}),
    ssh_keys: [...(ssh_keys ?? [])],
    labels_groups: (labels_groups ?? []).map((group) => ({ id: group })),
    features: chosenFeatures(deps, row, features ?? []),
    status: stateOf(state),
    has_access: true,
    deployment_status: isConnected(deps, row) ? 'UP_TO_DATE' : 'NEVER_DEPLOYED',
    ...(facts === null ? {} : { version: `${facts.engine} ${facts.version}`, cpu: facts.cpuMillicores, memory: facts.memoryMiB }),
  };
}

/** Returns the chosen features. A feature that the catalogue no longer has is omitted, because its title is unknown. */
function chosenFeatures(
  deps: Needs<'catalogue'>,
  { cloud_provider }: store.ClusterRow,
  chosen: NonNullable<store.ClusterSpec['features']>,
): NonNullable<Cluster['features']> {
  const known = vendorOf(deps.catalogue, cloud_provider)?.features ?? [];
  return chosen.flatMap(({ id, value }) => {
    const feature = known.find((one) => one.id === id);
    return feature === undefined ? [] : [toFeature(feature, value)];
  });
}
