import type { CallAnswer } from '@davit/client';
import { api } from '../api.ts';
import type { Service, ServiceType } from '../words.ts';

/** The actions on one service. */
export type ServiceAction = 'deploy' | 'redeploy' | 'restart' | 'stop';
/** The actions on all services of an environment. */
export type EnvironmentAction = 'deploy' | 'redeploy' | 'stop' | 'cancel';

const deployed = (type: ServiceType, id: string) => ({
  applications: type === 'APPLICATION' ? [{ application_id: id }] : [],
  databases: type === 'DATABASE' ? [id] : [],
  containers: type === 'CONTAINER' ? [{ id }] : [],
  jobs: type === 'JOB' ? [{ id }] : [],
  helms: type === 'HELM' ? [{ id }] : [],
  terraforms: type === 'TERRAFORM' ? [{ id }] : [],
});

/** Deploys the services of a deployment again, together. */
export async function deployAgain(
  environmentId: string,
  services: readonly { readonly type: ServiceType; readonly id: string }[],
): Promise<void> {
  const bodies = services.map(({ type, id }) => deployed(type, id));
  const body = {
    applications: bodies.flatMap((one) => one.applications),
    databases: bodies.flatMap((one) => one.databases),
    containers: bodies.flatMap((one) => one.containers),
    jobs: bodies.flatMap((one) => one.jobs),
    helms: bodies.flatMap((one) => one.helms),
    terraforms: bodies.flatMap((one) => one.terraforms),
  };
  await api().call('deployAllServices', { params: { environmentId }, body });
}

const ids = (type: ServiceType, id: string) => ({
  application_ids: type === 'APPLICATION' ? [id] : [],
  container_ids: type === 'CONTAINER' ? [id] : [],
  database_ids: type === 'DATABASE' ? [id] : [],
  job_ids: type === 'JOB' ? [id] : [],
  helm_ids: type === 'HELM' ? [id] : [],
});

/** Returns why this kind of service has no such action; null if it has. */
export function impossible(action: ServiceAction, type: ServiceType): string | null {
  if (action === 'restart' && !['APPLICATION', 'CONTAINER', 'DATABASE'].includes(type)) {
    return 'Only services that run permanently can be restarted.';
  }
  return action === 'stop' && type === 'TERRAFORM' ? 'A Terraform configuration runs only while it is deployed.' : null;
}

/** Requests the action. The answer means that it is queued; the stream reports what comes of it. */
export async function actOnService(action: ServiceAction, { id, service_type: type, environment }: Service): Promise<void> {
  const params = { environmentId: environment.id };
  const client = api();
  if (action === 'deploy') await client.call('deployAllServices', { params, body: deployed(type, id) });
  else if (action === 'restart') await client.call('rebootServices', { params, body: ids(type, id) });
  else if (action === 'stop') await client.call('stopSelectedServices', { params, body: ids(type, id) });
  else await redeploy[type](id);
}

const redeploy: Readonly<Record<ServiceType, (id: string) => Promise<unknown>>> = {
  APPLICATION: (applicationId) => api().call('redeployApplication', { params: { applicationId } }),
  CONTAINER: (containerId) => api().call('redeployContainer', { params: { containerId } }),
  DATABASE: (databaseId) => api().call('redeployDatabase', { params: { databaseId } }),
  JOB: (jobId) => api().call('redeployJob', { params: { jobId } }),
  HELM: (helmId) => api().call('redeployHelm', { params: { helmId } }),
  TERRAFORM: (terraformId) => api().call('redeployTerraform', { params: { terraformId } }),
};

type Plan = CallAnswer<'deployApplication'>['plan'];
type DeployRelease = (id: string, release_id: string, dry_run: boolean) => Promise<{ readonly plan?: Plan }>;

/** Kinds whose earlier releases can be deployed again. */
const rollBackOf: Partial<Record<ServiceType, DeployRelease>> = {
  APPLICATION: (applicationId, release_id, dry_run) =>
    api().call('deployApplication', { params: { applicationId }, query: { dry_run }, body: { release_id } }),
  CONTAINER: (containerId, release_id, dry_run) =>
    api().call('deployContainer', { params: { containerId }, query: { dry_run }, body: { release_id } }),
  JOB: (jobId, release_id, dry_run) => api().call('deployJob', { params: { jobId }, query: { dry_run }, body: { release_id } }),
};

export function canRollBack(type: ServiceType): boolean {
  return rollBackOf[type] !== undefined;
}

/** Deploys an earlier release of a service again. */
export async function rollBack({ id, service_type: type }: Service, releaseId: string): Promise<void> {
  await rollBackOf[type]?.(id, releaseId, false);
}

/** The plan of a rollback for one service. */
export type RollBackPlan = NonNullable<Plan>['stages'][number]['services'][number];

/** Returns what a rollback would do, without doing it; null if the server has no plan for it. */
export async function planRollBack({ id, service_type: type }: Service, releaseId: string): Promise<RollBackPlan | null> {
  const answer = await rollBackOf[type]?.(id, releaseId, true);
  const services = answer?.plan?.stages.flatMap((stage) => stage.services) ?? [];
  return services.find(({ service_id: of }) => of === id) ?? null;
}

export async function actOnEnvironment(action: EnvironmentAction, environmentId: string): Promise<void> {
  const params = { environmentId };
  const client = api();
  if (action === 'deploy') await client.call('deployEnvironment', { params });
  else if (action === 'redeploy') await client.call('redeployEnvironment', { params });
  else if (action === 'stop') await client.call('stopEnvironment', { params });
  else await client.call('cancelEnvironmentDeployment', { params, body: {} });
}
