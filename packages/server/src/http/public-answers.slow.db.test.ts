import { operationList, type Operation } from '@davit/contract';
import { setTimeout } from 'node:timers/promises';
import { createFakeCluster, DriverError, type FakeCluster, type TerraformDriver } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { startTestSite } from '@davit/testkit/site';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recipes } from '../resources/event/testing/recipes.ts';
import { keyed, EventFixture, source, type Ids, type Recipe } from '../resources/event/testing/fixture.ts';
import { WebhookDeliverer } from '../resources/webhook/index.ts';
import { describedOperations, faultsOfAnswer, lengthOfList, type Described } from './testing/public-shapes.ts';

/* Responses must have the shapes that clients generated from the public description expect. */

const recipeOf = (id: string): Recipe | undefined => Object.entries(recipes).find(([name]) => name === id)?.[1];
const named = (one: Described): readonly [string, Described] => [one.operation.id, one];
const neverAnswered = 'there is no cluster of Kubernetes that is deployed; cluster/kubernetes.db.test.ts looks at the refusal';
/** Reads that always fail, with the reason. */
const refused: Readonly<Record<string, string>> = {
  getClusterKubernetesEvents: neverAnswered,
  getClusterTokenByClusterId: neverAnswered,
  getInstallationHelmValues: neverAnswered,
};
const reading = describedOperations.filter(
  ({ operation: { id, method, audience } }) => method === 'GET' && audience !== 'people' && refused[id] === undefined,
);

let site: Awaited<ReturnType<typeof startTestSite>>;
const settings = { DAVIT_ALLOW_PRIVATE_TARGETS: 'true', DAVIT_ALLOW_HTTP_REGISTRIES: 'true' };
/** Operations whose list had entries at least once: an empty list matches every shape. */
const filled = new Set<string>();

beforeAll(async () => {
  const index =
    'apiVersion: v1\nentries:\n  redis:\n    - {name: redis, version: 1.2.3, created: 2026-01-01T00:00:00Z, urls: [x]}\n';
  site = await startTestSite(({ url = '' }, response) => {
    if (url.includes('/tags/list')) response.end('{"name": "cache", "tags": ["7", "8"]}');
    else response.end(url.includes('index.yaml') ? index : '{"repositories": ["cache"]}');
  });
});
afterAll(() => site.close());

describe('before anything runs', () => {
  let fixture: EventFixture;
  beforeAll(async () => {
    fixture = await EventFixture.open({ environment: settings });
  });
  afterAll(() => fixture.close());

  const changing = describedOperations.filter(
    ({ operation }) => operation.method !== 'GET' && recipeOf(operation.id) !== undefined,
  );
  test.each(changing.map(named))('%s answers what its clients expect', async (id, one) => {
    const recipe = recipeOf(id);
    if (recipe === undefined) throw new Error('only operations with a call are here');
    const { status, text } = await fixture.send(one.operation, recipe);
    expect(faultsOfAnswer(one, status, text)).toEqual([]);
  });

  // Reads of repositories need an engine.
  const answering = reading.filter(({ operation }) => !/Commit$|Contributor$/.test(operation.id));
  test.each(answering.map(named))('%s answers what its clients expect', async (id, one) => {
    const { status, text } = await fixture.send(one.operation, await readingCall(fixture, one.operation));
    expect({ status, text }).toMatchObject({ status: one.operation.status });
    expect(faultsOfAnswer(one, status, text)).toEqual([]);
    if ((lengthOfList(text) ?? 1) > 0) filled.add(id);
  });
});

describe('while services run', () => {
  let fixture: EventFixture;
  let engine: Engine | undefined;
  let fake: FakeCluster;
  let deliverer: WebhookDeliverer;
  beforeAll(async () => {
    fake = createFakeCluster();
    fixture = await EventFixture.open({
      engine: (parts) => (engine = createEngine({ ...parts, drivers: { docker: fake }, terraform })),
      environment: { ...settings, DAVIT_READY_TIMEOUT_SECONDS: '5', DAVIT_DRAIN_SECONDS: '1' },
    });
    await engine?.start();
    const { database } = fixture.server.database;
    const log = { warn: (): void => undefined };
    const { vault, counts } = fixture.server.api.deps;
    deliverer = new WebhookDeliverer({ database, vault, allowPrivateTargets: true, version: '1', counts, log });
    deliverer.start();
    await liveIn(fixture, fake);
  });
  afterAll(async () => {
    await deliverer.stop();
    await engine?.stop();
    await fixture.close();
  });

  test.each(reading.map(named))('%s answers what its clients expect', async (id, one) => {
    const { status, text } = await fixture.send(one.operation, await readingCall(fixture, one.operation));
    expect({ status, text }).toMatchObject({ status: one.operation.status });
    expect(faultsOfAnswer(one, status, text)).toEqual([]);
    if ((lengthOfList(text) ?? 1) > 0) filled.add(id);
  });
});

/** Lists that stay empty in these tests, with the reason. */
const empty: Readonly<Record<string, string>> = {
  listHelmDeploymentHistory: 'a Helm chart is not deployed by this version',
  listHelmDeploymentHistoryV2: 'a Helm chart is not deployed by this version',
  getHelmKubernetesServices: 'a Helm chart is not deployed by this version, so it made none',
  listJobCommit: 'the job here is of an image, which has no commits',
  getTerraformResources: 'no program runs here; terraform-deployed.db.test.ts looks at what one made',
  listHelmLinks: 'a Helm chart is not deployed by this version, so it answers nowhere',
};

test('the lists that were looked at had something in them', () => {
  const names = reading.map(({ operation }) => operation.id).filter((id) => !filled.has(id));
  expect(names.toSorted()).toEqual(Object.keys(empty).toSorted());
});

/** A Terraform program that is installed and runs nothing. */
const terraform: TerraformDriver = {
  versions: () => Promise.resolve([{ engine: 'TERRAFORM', version: '1.9.0' }]),
  open: () => Promise.reject(new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: 'only its version is asked for here' })),
  remove: () => Promise.resolve(),
  end: () => Promise.resolve([]),
  hasUnstoredState: () => Promise.resolve(false),
};

/**
 * Deploys an application and a container with all options, a database, a job that ran, and a Terraform configuration
 * that did not run.
 */
async function liveIn(fixture: EventFixture, fake: FakeCluster): Promise<void> {
  const { environmentId, applicationId, containerId, databaseId, jobId } = fixture.here;
  const annotations = { name: 'notes', annotations: [{ key: 'team', value: 'shop' }], scopes: ['DEPLOYMENTS', 'PODS'] };
  const labels = { name: 'labels', labels: [{ key: 'team', value: 'shop', propagate_to_cloud_provider: true }] };
  const annotationsGroupId = await fixture.make('annotationsGroups', annotations);
  const labelsGroupId = await fixture.make('labelsGroups', labels);
  const groups = { annotations_groups: [{ id: annotationsGroupId }], labels_groups: [{ id: labelsGroupId }] };
  const gitTokenId = await fixture.make('gitToken', { name: 'git', type: 'HOSTA', token: 'sesame' });
  const webhookId = await fixture.make('webhook', { target_url: site.url, events: ['DEPLOYMENT_STARTED'] });
  const timing = { initial_delay_seconds: 1, period_seconds: 1, timeout_seconds: 1, success_threshold: 1, failure_threshold: 3 };
  const whole = {
    ...groups,
    description: 'the shop',
    cpu: 250,
    memory: 256,
    max_running_instances: 2,
    arguments: ['serve'],
    entrypoint: '/bin/shop',
    ports: [
      { internal_port: 80, external_port: 443, publicly_accessible: true, protocol: 'HTTP', name: 'http', is_default: true },
    ],
    storage: [{ type: 'FAST_SSD', size: 1, mount_point: '/data' }],
    healthchecks: {
      readiness_probe: { type: { http: { path: '/', scheme: 'HTTP', port: 80 } }, ...timing },
      liveness_probe: { type: { tcp: { port: 80, host: null } }, ...timing },
    },
  };
  const git_repository = { ...source.git_repository, branch: 'main', root_path: '/', git_token_id: gitTokenId };
  await fixture.change(`PUT /application/${applicationId}`, { ...whole, git_repository });
  await fixture.change(`PUT /container/${containerId}`, whole);
  for (const noun of ['application', 'container']) {
    const at = `/${noun}/${fixture.here[`${noun}Id`]}`;
    for (const sort of ['environmentVariable', 'secret']) {
      const wide = await fixture.make(`/environment/${environmentId}/${sort}`, keyed());
      const file = await fixture.make(`${at}/${sort}`, { ...keyed(), mount_path: `/run/${sort}` });
      await fixture.make(`${at}/${sort}/${wide}/override`, { value: 'narrow' });
      await fixture.make(`${at}/${sort}/${wide}/alias`, { key: keyed().key });
      await fixture.make(`${at}/${sort}/${file}/alias`, { key: keyed().key });
    }
    await fixture.make(`${at}/deploy`);
    await settled(fixture, at);
  }
  await fixture.make(`/application/${applicationId}/deploymentRestriction`, { mode: 'MATCH', type: 'PATH', value: 'src' });
  await fixture.make(`/container/${containerId}/redeploy`);
  await settled(fixture, `/container/${containerId}`);
  await fixture.make(`/database/${databaseId}/deploy`);
  await settled(fixture, `/database/${databaseId}`);
  await fixture.make(`/job/${jobId}/deploy`);
  const run = await found(() => fake.instances.find(({ service, state }) => service === jobId && state === 'RUNNING'));
  fake.print(run.id, 'done');
  fake.kill(run.id, 0);
  await settled(fixture, `/job/${jobId}`);
  const { terraformId } = fixture.here;
  await fixture.make(`/terraform/${terraformId}/deploy`);
  const history = `/terraform/${terraformId}/deploymentHistoryV2`;
  await eventually(async () => /"status":"ERROR"/.test(JSON.stringify(await fixture.read(history))));
  for (const { id } of fake.instances) fake.print(id, 'ready');
  fixture.here = { ...fixture.here, gitTokenId, annotationsGroupId, labelsGroupId, webhookId };
  const reported = `/organization/${fixture.organizationId}/webhook/${webhookId}/event`;
  await eventually(async () => (lengthOfList(JSON.stringify(await fixture.read(reported))) ?? 0) > 0);
}

async function settled(fixture: EventFixture, path: string): Promise<void> {
  const ended = /"status":"(SUCCESS|ERROR)"/;
  await eventually(async () => ended.test(JSON.stringify(await fixture.read(`${path}/status`))));
}

async function found<Thing>(look: () => Thing | undefined): Promise<Thing> {
  let thing: Thing | undefined;
  await eventually(() => Promise.resolve((thing = look()) !== undefined));
  if (thing === undefined) throw new Error('waited in vain');
  return thing;
}

async function eventually(condition: () => Promise<boolean>): Promise<void> {
  const until = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > until) throw new Error('waited in vain');
    await setTimeout(20);
  }
}

const locations: Readonly<Record<string, Ids>> = {
  aws: { region: 'eu-west-3', databaseType: 'POSTGRESQL' },
  vendora: { zone: 'fr-par-1' },
  vendorb: { region: 'francecentral', managedK8sSegment: 'managed_k8s' },
  cloudc: { region: 'europe-west9' },
};

/** Reads that need more than the ids of existing things. */
const special: Readonly<Record<string, (fixture: EventFixture) => Promise<{ ids?: Ids; query?: string }>>> = {
  listVariables: async ({ here }) => ({ query: `scope=PROJECT&parent_id=${here['projectId']}` }),
  getContainerVersions: async (fixture) => {
    const registry = { name: `near ${keyed().key}`, kind: 'GENERIC_CR', url: site.url, config: {} };
    return { ids: { containerRegistryId: await fixture.make('containerRegistry', registry) }, query: 'imageName=cache' };
  },
  getHelmRepositoryAssociatedServices: async (fixture) => {
    const repository = { name: keyed().key, kind: 'HTTPS', url: site.url, skip_tls_verification: false, config: {} };
    const helmRepositoryId = await fixture.make('helmRepository', repository);
    const chart = { helm_repository: { repository: helmRepositoryId, chart_name: 'redis', chart_version: '1.2.3' } };
    const { environmentId } = await fixture.fresh();
    await fixture.make(`/environment/${environmentId}/helm`, { name: 'redis', source: chart });
    return { ids: { helmRepositoryId } };
  },
  getHelmCharts: async (fixture) => {
    const repository = { name: keyed().key, kind: 'HTTPS', url: site.url, skip_tls_verification: false, config: {} };
    return { ids: { helmRepositoryId: await fixture.make('helmRepository', repository) } };
  },
  getClusterKubeconfig: async (fixture) => {
    const body = { name: keyed().key, region: 'here', cloud_provider: 'ON_PREMISE', kubernetes: 'SELF_MANAGED' };
    const clusterId = await fixture.make('cluster', body);
    const path = `PUT /organization/${fixture.organizationId}/cluster/${clusterId}/kubeconfig`;
    await fixture.change(path, 'kind: Config\nclusters: []\ncontexts: []\nusers: []\n');
    return { ids: { clusterId } };
  },
  getRoutingTable: async (fixture) => {
    const clusterId = await fixture.make('cluster', { name: keyed().key, region: 'eu-west-3', cloud_provider: 'AWS' });
    const routes = [{ destination: '10.1.0.0/16', target: 'gateway', description: 'to the office' }];
    await fixture.change(`PUT /organization/${fixture.organizationId}/cluster/${clusterId}/routingTable`, { routes });
    return { ids: { clusterId } };
  },
  listClusterLogs: async (fixture) => {
    await fixture.make(`cluster/${fixture.here['clusterId']}/deploy`);
    return {};
  },
  listDatabaseApplication: async (fixture) => ({ ids: await recipes.removeApplicationFromDatabase.ids(fixture) }),
  listDeploymentRequestByEnvironmentId: async (fixture) => ({ ids: await fixture.deployed() }),
  listDeploymentRequestByServiceId: async (fixture) => ({ ids: await fixture.deployed() }),
  getDeploymentStatusByDeploymentRequestId: async (fixture) => {
    const { deploymentRequestId } = await fixture.deployed();
    return { query: `deploymentRequestId=${deploymentRequestId}` };
  },
};

/** Returns the call of a GET. Ids come from the scene, otherwise from the nearest operation that changes something. */
async function readingCall(fixture: EventFixture, operation: Operation): Promise<Recipe> {
  const { ids: own = {}, query } = (await special[operation.id]?.(fixture)) ?? {};
  const names = [...operation.path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '');
  const known: Ids = { ...fixture.here, ...locations[operation.path.split('/')[1] ?? ''], ...own };
  const missing = names.filter((name) => known[name] === undefined);
  const ids = missing.length === 0 ? known : { ...known, ...(await nearest(operation, missing).ids(fixture)) };
  const needed: { readonly required?: readonly string[] } = operation.query ?? {};
  const text = query ?? (needed.required ?? []).map((name) => `${name}=${ids[name] ?? ''}`).join('&');
  return { ids: () => ids, event: '', ...(text === '' ? {} : { query: () => text }) };
}

function nearest(operation: Operation, missing: readonly string[]): Recipe {
  const common = (path: string): number => {
    let length = 0;
    while (length < path.length && path[length] === operation.path[length]) length += 1;
    return length;
  };
  const [first] = operationList
    .filter(
      ({ id, path, audience }) =>
        audience !== 'people' && recipeOf(id) !== undefined && missing.every((name) => path.includes(`{${name}}`)),
    )
    .toSorted((a, b) => common(b.path) - common(a.path));
  const recipe = first === undefined ? undefined : recipeOf(first.id);
  if (recipe === undefined) throw new Error(`no call makes ${missing.join(', ')}`);
  return recipe;
}
