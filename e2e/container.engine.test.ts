import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds, testRegistryPort } from '../packages/testkit/src/engines.ts';
import { startTestRegistry, type TestRegistry } from '../packages/testkit/src/registry.ts';
import { TestSetup } from './support/setup.ts';

const serving = (text: string) => [
  'sh',
  '-c',
  `mkdir -p /www && echo ${text} > /www/index.html && exec httpd -f -p 3000 -h /www`,
];

describe.each(testEngineKinds())('a container from a registry on %s', (kind) => {
  let setup: TestSetup;
  let registry: TestRegistry;
  let registryId: string;
  let params: { containerId: string };
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_ALLOW_HTTP_REGISTRIES: 'true' });
    registry = await startTestRegistry(await testRegistryPort());
    const { username, password, url } = registry;
    const body = { name: 'own', kind: 'GENERIC_CR' as const, url: `${url}/team`, config: { username, password } };
    const { organizationId, environmentId } = setup;
    registryId = (await setup.davit.client.call('createContainerRegistry', { params: { organizationId }, body })).id;
    await registry.push('team/web', '1', serving('first'));
    const made = await setup.davit.client.call('createContainer', {
      params: { environmentId },
      body: {
        name: 'web',
        registry_id: registryId,
        image_name: 'web',
        tag: '1',
        memory: 64,
        ports: [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' }],
      },
    });
    params = { containerId: made.id };
  });
  afterAll(async () => {
    await setup?.close();
    await registry?.close();
  });

  const deploy = async (body: { image_tag?: string; release_id?: string } = {}) => {
    const history = async () => (await setup.davit.client.call('listContainerDeploymentHistoryV2', { params })).results[0];
    const former = (await history())?.identifier.execution_id;
    await setup.davit.client.call('deployContainer', { params, body });
    await setup.idleAfter(async () => (await history())?.identifier.execution_id !== former);
    return setup.davit.client.call('getContainerStatus', { params });
  };
  const served = async (): Promise<string> => {
    const { results } = await setup.davit.client.call('listContainerLinks', { params });
    return (await setup.fetch(results[0]?.url ?? '')).body.trim();
  };

  test('is pulled with the credentials, runs and answers', async () => {
    const status = await deploy();
    expect(status).toMatchObject({ state: 'DEPLOYED', service_deployment_status: 'UP_TO_DATE', failure: null });
    expect(status.steps?.details.map((step) => step.step_name)).toContain('MIRROR_IMAGE');
    expect(await served()).toBe('first');
  });

  test('runs what its tag means by now when it is deployed again, and what it meant then after a rollback', async () => {
    const first = (await setup.davit.client.call('getContainerStatus', { params })).release_id ?? '';
    await registry.push('team/web', '1', serving('second'));
    expect((await deploy()).state).toBe('DEPLOYED');
    expect(await served()).toBe('second');
    expect((await deploy({ release_id: first })).state).toBe('DEPLOYED');
    expect(await served()).toBe('first');
  });

  test('goes on running when an image is not to be had, and says why', async () => {
    const status = await deploy({ image_tag: 'nope' });
    expect(status).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'IMAGE_NOT_FOUND' } });
    expect(await served()).toBe('first');
    expect(await setup.log()).not.toContain(registry.password);
  });
});
