import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import { startChartRepository } from './support/charts.ts';
import { eventually } from './support/eventually.ts';
import { Installation, installationParts } from './support/installation.ts';
import { startLoad } from './support/load.ts';
import { ownAddress } from './support/own-address.ts';

/*
 * Davit as installed by its chart, with its own cluster as the deployment target. Each test builds on the one before.
 */

const cluster = testCluster();
const { missing } = installationParts(cluster);
const [, host = '', imageName = '', tag = ''] = /^([^/]+)\/(.+):([^:/]+)$/.exec(cluster.image) ?? [];
const waiting = 'trap "exit 0" TERM; sleep 1000000 & wait';

describe.skipIf(missing !== null)(`an installation on Kubernetes${missing === null ? '' : ` (${missing})`}`, () => {
  let davit: Installation;
  let organizationId: string;
  let environmentId: string;
  let registryId: string;
  let settings: object;
  beforeAll(async () => {
    davit = new Installation(cluster);
    await davit.install();
  });
  afterAll(async () => {
    await davit?.remove();
  });

  const container = async (name: string, script: string, healthchecks: object = {}): Promise<{ containerId: string }> => {
    const image = { registry_id: registryId, image_name: imageName, tag };
    const body = { name, ...image, entrypoint: '/bin/sh', arguments: ['-c', script], cpu: 20, memory: 32, healthchecks };
    return { containerId: (await davit.client.call('createContainer', { params: { environmentId }, body })).id };
  };
  const becomes = async (params: { containerId: string }, state: string): Promise<void> => {
    let last: unknown;
    const isIt = async (): Promise<true | undefined> => {
      last = await davit.client.call('getContainerStatus', { params });
      return (last as { state: string }).state === state ? true : undefined; // oxlint-disable-line typescript/no-unsafe-type-assertion -- as the client says
    };
    await eventually(isIt, state, 150_000).catch(async (error: unknown) => {
      throw new Error(`${JSON.stringify(last)}\n${(await davit.logs('worker')).slice(-4000)}`, { cause: error });
    });
  };

  test('two processes of each role are ready, under the strictest Pod Security', async () => {
    expect(await davit.pods('api')).toHaveLength(2);
    expect(await davit.pods('worker')).toHaveLength(2);
    organizationId = (await davit.client.call('createOrganization', { body: { name: 'Shipyard' } })).id;
    expect((await davit.client.call('listOrganization')).results.map(({ id }) => id)).toEqual([organizationId]);
  });

  test('the operator lets it onto its own cluster, where it then deploys without a kubeconfig', async () => {
    const { client } = davit;
    const body = { name: 'own', region: 'here', cloud_provider: 'ON_PREMISE' } as const;
    const { id: clusterId } = await client.call('createCluster', { params: { organizationId }, body });
    const params = { organizationId, clusterId };
    await expect(client.call('deployCluster', { params })).rejects.toMatchObject({ code: 'CLUSTER_NOT_DEPLOYED' });
    settings = {
      clusterSettings: {
        '*': { helper_image: cluster.image, linger_seconds: 1, pod_security: 'baseline' },
        [clusterId]: { in_cluster: true },
      },
    };
    await davit.upgrade(settings);
    await client.call('deployCluster', { params });
    expect((await client.call('getClusterStatus', { params })).status).toBe('DEPLOYED');

    const url = `${/^(127\.|localhost)/.test(host) ? 'http' : 'https'}://${host}`;
    const registry = { name: 'own', kind: 'GENERIC_CR', url, config: {} } as const;
    registryId = (await client.call('createContainerRegistry', { params: { organizationId }, body: registry })).id;
    const project = await client.call('createProject', { params: { organizationId }, body: { name: 'Dock' } });
    const environment = { name: 'live', cluster_id: clusterId };
    environmentId = (await client.call('createEnvironment', { params: { projectId: project.id }, body: environment })).id;
    const web = await container('web', waiting);
    await client.call('deployContainer', { params: web, body: {} });
    await becomes(web, 'DEPLOYED');
  });

  test('a rolling upgrade loses no request, and a deployment under way goes on in a process of the new version', async () => {
    // The container becomes ready after all former processes have exited.
    const slow = await container('slow', `(sleep 100; touch /tmp/ready) & ${waiting}`, {
      readiness_probe: {
        type: { exec: { command: ['test', '-f', '/tmp/ready'] } },
        initial_delay_seconds: 0,
        period_seconds: 1,
        timeout_seconds: 1,
        success_threshold: 1,
        failure_threshold: 300,
      },
    });
    await davit.client.call('deployContainer', { params: slow, body: {} });
    await becomes(slow, 'DEPLOYING');
    const { address, headers } = davit.door;
    const load = startLoad(`${address}/organization`, { connectTo: new URL(address).hostname, headers, isReading: true });
    settings = { ...settings, charts: true };
    await davit.upgradeVersion(settings);
    const { succeeded, failures } = await load.end(500);
    console.log(`${succeeded} requests were answered during the upgrade, ${failures.length} lost`);
    expect(failures).toEqual([]);
    expect(await davit.client.call('getContainerStatus', { params: slow })).toMatchObject({ state: 'DEPLOYING' });
    await becomes(slow, 'DEPLOYED');
    const { results } = await davit.client.call('listContainerDeploymentHistoryV2', { params: slow });
    expect(results).toHaveLength(1);
    const log = await davit.client.call('listEnvironmentLogs', { params: { environmentId } });
    expect(log.map(({ error, message }) => error?.user_log_message ?? message?.safe_message)).toContain(
      'Davit stopped in the middle of this deployment and now resumes it.',
    );
  }, 300_000);

  test('a chart is deployed with the rights that the chart of Davit gives', async ({ skip }) => {
    const { client } = davit;
    const repository = await startChartRepository(['1.0.0'], { host: ownAddress() });
    try {
      const { url, username, password } = repository;
      const record = {
        name: 'charts',
        kind: 'HTTPS' as const,
        url,
        skip_tls_verification: false,
        config: { username, password },
      };
      const { id } = await client.call('createHelmRepository', { params: { organizationId }, body: record });
      const source = { helm_repository: { repository: id, chart_name: 'web', chart_version: '1.0.0' } };
      const body = { name: 'page', timeout_sec: 60, source, values_override: { set: [['image', cluster.image]] } };
      const chart = { helmId: (await client.call('createHelm', { params: { environmentId }, body })).id };
      await client.call('deployHelm', { params: chart, body: {} });
      const ended = async () => {
        const status = await client.call('getHelmStatus', { params: chart });
        return status.state === 'DEPLOYED' || status.state === 'DEPLOYMENT_ERROR' ? status : undefined;
      };
      const { state, failure } = await eventually(ended, 'the chart to be deployed', 120_000);
      skip(failure?.code === 'HELM_UNAVAILABLE', 'the image of Davit has no Helm (docs/how-to/build-the-image.md)');
      expect({ state, failure }).toEqual({ state: 'DEPLOYED', failure: null });
      const { results } = await client.call('getHelmKubernetesServices', { params: chart });
      expect(results).toHaveLength(1);
    } finally {
      await repository.close();
    }
  }, 180_000);

  test('what it deployed goes with its environment', async () => {
    const { client } = davit;
    await client.call('deleteEnvironment', { params: { environmentId } });
    await expect
      .poll(() => client.call('getEnvironment', { params: { environmentId } }).catch(({ code }: { code: string }) => code), {
        timeout: 120_000,
      })
      .toBe('NOT_FOUND');
  });
});
