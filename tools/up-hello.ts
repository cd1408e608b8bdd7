import { setTimeout as pause } from 'node:timers/promises';
import type { Api } from './up-api.ts';
import type { Repository } from './up-repository.ts';

/* The example of ./up. It uses only the API, like any other client. */

interface Named {
  readonly id: string;
  readonly name: string;
}

interface List<Item> {
  readonly results: readonly Item[];
}

interface Application extends Named {
  readonly git_repository?: { readonly deployed_commit_id?: string };
}

interface Status {
  readonly state: string;
  readonly execution_id?: string;
  readonly service_deployment_status: string;
  readonly steps?: {
    readonly details: readonly { readonly step_name?: string; readonly status?: string; readonly duration_ms?: number }[];
  };
  readonly failure?: Failure | null;
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly evidence: { readonly lines?: readonly string[] };
}

interface Link {
  readonly url: string;
  readonly is_default: boolean;
}

type Say = (line: string) => void;

const names = { organization: 'Examples', project: 'Hello', environment: 'Demo', application: 'hello-node' };
const deployWithinMilliseconds = 600_000;

/**
 * Creates the missing records, deploys the application if its newest commit is not running, and returns the
 * application's address.
 */
export async function deployHello(api: Api, repository: Repository, say: Say): Promise<string> {
  const organization = await findOrCreate(api, '/organization', { name: names.organization }, say);
  const project = await findOrCreate(api, `/organization/${organization.id}/project`, { name: names.project }, say);
  const mode = { name: names.environment, mode: 'DEVELOPMENT' };
  const environment = await findOrCreate(api, `/project/${project.id}/environment`, mode, say);
  const application = await ensureApplication(api, environment.id, repository, say);
  await deploy(api, application, repository.commit, say);
  const { results } = await api.get<List<Link>>(`/application/${application.id}/link`);
  const link = results.find(({ is_default }) => is_default) ?? results[0];
  if (link === undefined) throw new Error('the application has no address');
  return link.url;
}

/** Returns the environment of the example, if it exists. */
export async function findHello(api: Api): Promise<Named | undefined> {
  const organization = await find(api, '/organization', names.organization);
  const project = organization && (await find(api, `/organization/${organization.id}/project`, names.project));
  return project && find(api, `/project/${project.id}/environment`, names.environment);
}

/** Stops the example's containers. */
export async function stopHello(api: Api, environment: Named, say: Say): Promise<void> {
  const application = await find(api, `/environment/${environment.id}/application`, names.application);
  if (application === undefined) return;
  const path = `/application/${application.id}/status`;
  const before = await api.get<Status>(path);
  if (before.state !== 'DEPLOYED') return;
  await api.post(`/environment/${environment.id}/stop`);
  await follow(api, { applicationId: application.id, former: before.execution_id, wanted: 'STOPPED' }, say);
}

async function ensureApplication(api: Api, environmentId: string, repository: Repository, say: Say): Promise<Application> {
  const probe = { type: { http: { port: 3000, path: '/' } }, initial_delay_seconds: 0, period_seconds: 1 };
  const fields = {
    name: names.application,
    description: 'The example of ./up',
    git_repository: { url: repository.folder, branch: repository.branch },
    build_mode: 'DOCKER',
    dockerfile_path: 'Dockerfile',
    cpu: 250,
    memory: 256,
    ports: [{ internal_port: 3000, external_port: 443, publicly_accessible: true, protocol: 'HTTP', is_default: true }],
    healthchecks: { readiness_probe: probe },
  };
  const path = `/environment/${environmentId}/application`;
  const found = await find<Application>(api, path, names.application);
  if (found !== undefined) return found;
  const application = await findOrCreate<Application>(api, path, fields, say);
  await api.post(`/application/${application.id}/environmentVariable`, { key: 'GREETING', value: 'Hello' });
  return application;
}

async function deploy(api: Api, application: Application, commit: string, say: Say): Promise<void> {
  const status = await api.get<Status>(`/application/${application.id}/status`);
  const isCurrent =
    application.git_repository?.deployed_commit_id === commit && status.service_deployment_status === 'UP_TO_DATE';
  if (status.state === 'DEPLOYED' && isCurrent) return say('the newest commit is deployed already');
  await api.post(`/application/${application.id}/deploy`, { git_commit_id: commit });
  await follow(api, { applicationId: application.id, former: status.execution_id, wanted: 'DEPLOYED' }, say);
}

interface Followed {
  readonly applicationId: string;
  /** The id of the previous execution. The status refers to that execution until the new one begins. */
  readonly former: string | undefined;
  readonly wanted: string;
}

/**
 * Prints each state and each finished step until the service reaches the wanted state. Throws if the service ends in
 * another state.
 */
async function follow(api: Api, { applicationId, former, wanted }: Followed, say: Say): Promise<void> {
  const deadline = Date.now() + deployWithinMilliseconds;
  const reported = new Set<string>();
  const tell = (line: string): void => {
    if (!reported.has(line)) say(`  ${line}`);
    reported.add(line);
  };
  for (;;) {
    const status = await api.get<Status>(`/application/${applicationId}/status`);
    const isFormer = status.execution_id === former;
    for (const { step_name, status: outcome, duration_ms } of isFormer ? [] : (status.steps?.details ?? [])) {
      if (outcome === 'SUCCESS' && step_name !== undefined)
        tell(`${step_name.toLowerCase()} ${((duration_ms ?? 0) / 1000).toFixed(1)} s`);
    }
    if (!isFormer || status.state !== wanted) tell(status.state);
    if (!isFormer && status.state === wanted) return;
    if (!isFormer && /ERROR$|^CANCELED$/.test(status.state)) throw new Error(explain(status));
    if (Date.now() > deadline) throw new Error(`the application is still ${status.state}`);
    await pause(100);
  }
}

function explain({ state, failure }: Status): string {
  if (!failure) return `the deployment ended as ${state}`;
  const lines = (failure.evidence.lines ?? []).map((line) => `\n  | ${line}`);
  return `the deployment ended as ${state}, ${failure.code}: ${failure.message}${lines.join('')}\n${failure.hint}`;
}

async function find<Item extends Named>(api: Api, path: string, name: string): Promise<Item | undefined> {
  const { results } = await api.get<List<Item>>(path);
  return results.find((item) => item.name.toLowerCase() === name.toLowerCase());
}

async function findOrCreate<Item extends Named>(
  api: Api,
  path: string,
  fields: { readonly name: string },
  say: Say,
): Promise<Item> {
  const found = await find<Item>(api, path, fields.name);
  if (found !== undefined) return found;
  const created = await api.post<Item>(path, fields);
  say(`created ${path.split('/').at(-1)} ${fields.name}`);
  return created;
}
