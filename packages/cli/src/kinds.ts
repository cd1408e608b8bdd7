import type { CallAnswer, Client } from '@davit/client';
import { CliError, misused } from './errors.ts';
import type { ServiceReference, ServiceType } from './location.ts';

/*
 * Operations that each kind of service has under a name of its own. A missing entry means that the kind has no such
 * operation.
 */

type Status = CallAnswer<'getApplicationStatus'>;
/** The status after a request: which request it is. */
export type Requested = Pick<Status, 'deployment_request_id'>;
export type History = CallAnswer<'listApplicationDeploymentHistoryV2'>;
export type Metrics = CallAnswer<'getApplicationMetrics'>;
export type Links = CallAnswer<'listApplicationLinks'>;
type On<Result> = (client: Client, id: string) => Promise<Result>;
type PerKind<Result> = Readonly<Partial<Record<ServiceType, On<Result>>>>;

/** Calls the operation of the service's kind. `verb`: what cannot be done if the kind has none. */
export function callKind<Result>(
  table: PerKind<Result>,
  client: Client,
  service: ServiceReference,
  verb: string,
): Promise<Result> {
  const call = table[service.type];
  if (call === undefined) throw misused(`${service.name} is ${kindOf(service.type)}, which cannot be ${verb}.`);
  return call(client, service.id);
}

const kindNames: Readonly<Record<ServiceType, string>> = {
  APPLICATION: 'an application',
  CONTAINER: 'a container',
  DATABASE: 'a database',
  JOB: 'a job',
  HELM: 'a Helm chart',
  TERRAFORM: 'a Terraform configuration',
};

/** Returns a kind of services as people call it. A newer server may have further kinds. */
export function kindOf(type: ServiceType): string {
  return isKnown(type) ? kindNames[type] : `of the kind ${type}`;
}

function isKnown(type: ServiceType): boolean {
  return Object.hasOwn(kindNames, type);
}

export const histories = (pageSize: number): PerKind<History> => {
  const query = { pageSize };
  return {
    APPLICATION: (client, applicationId) =>
      client.call('listApplicationDeploymentHistoryV2', { params: { applicationId }, query }),
    CONTAINER: (client, containerId) => client.call('listContainerDeploymentHistoryV2', { params: { containerId }, query }),
    DATABASE: (client, databaseId) => client.call('listDatabaseDeploymentHistoryV2', { params: { databaseId }, query }),
    JOB: (client, jobId) => client.call('listJobDeploymentHistoryV2', { params: { jobId }, query }),
    HELM: (client, helmId) => client.call('listHelmDeploymentHistoryV2', { params: { helmId }, query }),
    TERRAFORM: (client, terraformId) => client.call('listTerraformDeploymentHistoryV2', { params: { terraformId }, query }),
  };
};

export const restarts: PerKind<Requested> = {
  APPLICATION: (client, applicationId) => client.call('rebootApplication', { params: { applicationId } }),
  CONTAINER: (client, containerId) => client.call('rebootContainer', { params: { containerId } }),
  DATABASE: (client, databaseId) => client.call('rebootDatabase', { params: { databaseId } }),
};

export const stops: PerKind<Requested> = {
  APPLICATION: (client, applicationId) => client.call('stopApplication', { params: { applicationId } }),
  CONTAINER: (client, containerId) => client.call('stopContainer', { params: { containerId } }),
  DATABASE: (client, databaseId) => client.call('stopDatabase', { params: { databaseId } }),
  JOB: (client, jobId) => client.call('stopJob', { params: { jobId } }),
  HELM: (client, helmId) => client.call('stopHelm', { params: { helmId } }),
};

export const redeploys: PerKind<Requested> = {
  APPLICATION: (client, applicationId) => client.call('redeployApplication', { params: { applicationId } }),
  CONTAINER: (client, containerId) => client.call('redeployContainer', { params: { containerId } }),
  DATABASE: (client, databaseId) => client.call('redeployDatabase', { params: { databaseId } }),
  JOB: (client, jobId) => client.call('redeployJob', { params: { jobId } }),
  HELM: (client, helmId) => client.call('redeployHelm', { params: { helmId } }),
  TERRAFORM: (client, terraformId) => client.call('redeployTerraform', { params: { terraformId } }),
};

export const rollbacks = (release_id: string): PerKind<Requested> => ({
  APPLICATION: (client, applicationId) => client.call('deployApplication', { params: { applicationId }, body: { release_id } }),
  CONTAINER: (client, containerId) => client.call('deployContainer', { params: { containerId }, body: { release_id } }),
});

export const scales = (body: {
  readonly min_running_instances: number;
  readonly max_running_instances: number;
}): PerKind<unknown> => ({
  APPLICATION: (client, applicationId) => client.call('editApplication', { params: { applicationId }, body }),
  CONTAINER: (client, containerId) => client.call('editContainer', { params: { containerId }, body }),
});

export const metrics = (minutes: number): PerKind<Metrics> => {
  const query = { minutes };
  return {
    APPLICATION: (client, applicationId) => client.call('getApplicationMetrics', { params: { applicationId }, query }),
    CONTAINER: (client, containerId) => client.call('getContainerMetrics', { params: { containerId }, query }),
    DATABASE: (client, databaseId) => client.call('getDatabaseMetrics', { params: { databaseId }, query }),
    JOB: (client, jobId) => client.call('getJobMetrics', { params: { jobId }, query }),
  };
};

/** Versions to deploy instead of the configured ones. */
export interface Version {
  readonly commit?: string;
  readonly tag?: string;
  readonly chart?: string;
}

const flagsOf = { commit: '--commit', tag: '--tag', chart: '--chart-version' } as const;
const versionsOf: Readonly<Record<ServiceType, readonly (keyof Version)[]>> = {
  APPLICATION: ['commit'],
  CONTAINER: ['tag'],
  DATABASE: [],
  JOB: ['commit', 'tag'],
  HELM: ['chart'],
  TERRAFORM: ['commit'],
};

/**
 * Returns the body with which the services are deployed together. Refuses a version that none of them can have: another
 * version would be deployed than the caller asked for.
 */
export function deployBody(services: readonly ServiceReference[], version: Version) {
  const unknown = services.find(({ type }) => !isKnown(type));
  if (unknown !== undefined) {
    const advice = ['The server is newer. Its own command line, at /cli/davit.mjs of its address, knows the kind.'];
    throw new CliError(`${unknown.name} is of the kind ${unknown.type}, which this command line does not know.`, { advice });
  }
  for (const part of ['commit', 'tag', 'chart'] as const) {
    if (version[part] === undefined || services.some(({ type }) => versionsOf[type].includes(part))) continue;
    const names = services.map(({ name, type }) => `${name} is ${kindOf(type)}`).join(', ');
    throw misused(`${flagsOf[part]} has no effect here: ${names}.`);
  }
  const of = (type: ServiceType): string[] => services.flatMap((one) => (one.type === type ? [one.id] : []));
  const commit = version.commit === undefined ? {} : { git_commit_id: version.commit };
  const tag = version.tag === undefined ? {} : { image_tag: version.tag };
  const chart = version.chart === undefined ? {} : { chart_version: version.chart };
  return {
    applications: of('APPLICATION').map((application_id) => ({ application_id, ...commit })),
    containers: of('CONTAINER').map((id) => ({ id, ...tag })),
    databases: of('DATABASE'),
    jobs: of('JOB').map((id) => ({ id, ...commit, ...tag })),
    helms: of('HELM').map((id) => ({ id, ...chart })),
    terraforms: of('TERRAFORM').map((id) => ({ id, ...commit })),
  };
}
