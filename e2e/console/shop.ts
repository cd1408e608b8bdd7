import type { Client } from '@davit/client';
import { DriverError } from '@davit/drivers';
import type { RunningServer } from '@davit/testkit/running-server';
import type { TestOrganization } from '@davit/testkit/server';

/** The services of the environment `production`, in their stages. */
const stages = {
  Data: ['orders', 'cache'],
  Prepare: ['migrate'],
  Backend: ['api', 'worker'],
  Frontend: ['web'],
} as const;
export type ShopService = (typeof stages)[keyof typeof stages][number];

/** The organization Acme: the ids of its parts, and a client with the scope WRITE. */
export interface Shop {
  readonly organization: TestOrganization;
  readonly api: Client;
  readonly production: string;
  readonly staging: string;
  readonly services: Readonly<Record<ShopService, string>>;
}

/** The parts of a server that the shop needs. */
export type ShopServer = Pick<RunningServer, 'organization' | 'client' | 'fake'>;

const healthchecks = {};
const git = (name: string) => ({ url: `https://git.example.org/acme/${name}.git`, branch: 'main' });
const ports = (internal_port: number) => [{ internal_port, publicly_accessible: true, protocol: 'HTTP' as const }];

/** Creates the shop. Its deployment succeeds as long as the script of the fake cluster lets it. */
export async function createShop(server: ShopServer): Promise<Shop> {
  const organization = await server.organization('Acme');
  const api = server.client(organization.tokens.WRITE);
  const params = { organizationId: organization.id };
  const shop = await api.call('createProject', { params, body: { name: 'Shop' } });
  const billing = await api.call('createProject', { params, body: { name: 'Billing' } });
  const environment = async (projectId: string, name: string, mode: 'PRODUCTION' | 'STAGING') =>
    (await api.call('createEnvironment', { params: { projectId }, body: { name, mode } })).id;
  const production = await environment(shop.id, 'production', 'PRODUCTION');
  const staging = await environment(shop.id, 'staging', 'STAGING');
  await environment(billing.id, 'production', 'PRODUCTION');
  const services = await createServices(api, production);
  endJobs(server, services.migrate);
  await arrange(api, production, services);
  const web = { name: 'web', git_repository: git('web'), dockerfile_path: 'Dockerfile', ports: ports(3000), healthchecks };
  await api.call('createApplication', { params: { environmentId: staging }, body: web });
  return { organization, api, production, staging, services };
}

async function createServices(api: Client, environmentId: string): Promise<Shop['services']> {
  const params = { environmentId };
  const database = async (name: string, type: 'POSTGRESQL' | 'REDIS', version: string) => {
    const body = { name, type, version, mode: 'CONTAINER', accessibility: 'PRIVATE' } as const;
    return (await api.call('createDatabase', { params, body })).id;
  };
  const application = async (name: string, instances: number, port?: number) => {
    const body = {
      name,
      git_repository: git(name),
      dockerfile_path: 'Dockerfile',
      min_running_instances: instances,
      max_running_instances: instances,
      ...(port === undefined ? {} : { ports: ports(port) }),
      healthchecks,
    };
    return (await api.call('createApplication', { params, body })).id;
  };
  const docker = { git_repository: git('migrate'), dockerfile_path: 'Dockerfile' };
  const job = {
    name: 'migrate',
    healthchecks,
    source: { docker },
    schedule: { on_start: { entrypoint: '/bin/migrate', arguments: [] } },
  };
  return {
    orders: await database('orders', 'POSTGRESQL', '17'),
    cache: await database('cache', 'REDIS', '7'),
    migrate: (await api.call('createJob', { params, body: job })).id,
    api: await application('api', 3, 8080),
    worker: await application('worker', 2),
    web: await application('web', 2, 3000),
  };
}

async function arrange(api: Client, environmentId: string, services: Shop['services']): Promise<void> {
  for (const [name, members] of Object.entries(stages)) {
    const stage = await api.call('createEnvironmentDeploymentStage', { params: { environmentId }, body: { name } });
    for (const member of members) {
      const params = { deploymentStageId: stage.id, serviceId: services[member] };
      await api.call('attachServiceToDeploymentStage', { params });
    }
  }
}

/** Lets each run of a job succeed as soon as it has started, and everything else succeed. */
export function endJobs({ fake }: Pick<RunningServer, 'fake'>, serviceId: string): void {
  fake.script = {
    after: ({ method, service }) => {
      if (method !== 'start' || service !== serviceId) return;
      for (const instance of fake.instances) if (instance.service === serviceId) fake.kill(instance.id, 0);
    },
  };
}

/** Lets the instances of a service never listen on their port. */
export function neverListens({ fake }: RunningServer, serviceId: string): void {
  fake.script = {
    ...fake.script,
    before: ({ method, service }) => {
      if (method !== 'awaitReady' || service !== serviceId) return;
      throw new DriverError({
        cause: 'PORT_NOT_LISTENING',
        message: 'Nothing listens on port 8080.',
        evidence: {
          lines: ['starting node 24.9 with 512 MiB', 'connected to orders (PostgreSQL 17.2)', 'listening on 127.0.0.1:8080'],
          listening: ['127.0.0.1:8080'],
        },
      });
    },
  };
}
