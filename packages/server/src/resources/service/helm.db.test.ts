import { randomUUID } from 'node:crypto';
import type { CallInput, Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let organizationId: string;
let projectId: string;
let environmentId: string;
let repositoryId: string;
beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
  organizationId = (await server.organization()).id;
  projectId = (await client.call('createProject', { params: { organizationId }, body: { name: 'shop' } })).id;
  environmentId = await environment();
  repositoryId = await helmRepository();
});
afterAll(() => server.close());

type Body = CallInput<'createHelm'>['body'];
const git_repository = { url: 'https://git.example.org/shop/charts.git', branch: 'main', root_path: '/web' };
const chart = () => ({ helm_repository: { repository: repositoryId, chart_name: 'redis', chart_version: '18.1.0' } });
const helm = (body: Partial<Body> = {}, at = environmentId) =>
  client.call('createHelm', { params: { environmentId: at }, body: { name: randomUUID(), source: chart(), ...body } });

async function environment(): Promise<string> {
  return (await client.call('createEnvironment', { params: { projectId }, body: { name: randomUUID() } })).id;
}

async function helmRepository(location = organizationId): Promise<string> {
  const kind = { kind: 'HTTPS' as const, url: 'https://charts.example.org', skip_tls_verification: false, config: {} };
  const body = { name: randomUUID(), ...kind };
  return (await client.call('createHelmRepository', { params: { organizationId: location }, body })).id;
}

async function gitToken(location = organizationId): Promise<{ id: string; name: string }> {
  const body = { name: randomUUID(), type: 'GENERIC' as const, token: 'sesame' };
  return client.call('createGitToken', { params: { organizationId: location }, body });
}

describe('a Helm chart', () => {
  test('of a repository has the documented defaults, is read, listed, edited and deleted', async () => {
    const made = await helm({ name: 'Redis' });
    expect(made).toMatchObject({
      name: 'Redis',
      service_type: 'HELM',
      description: '',
      timeout_sec: 600,
      auto_preview: false,
      auto_deploy: false,
      allow_cluster_wide_resources: false,
      arguments: [],
      ports: [],
      values_override: { set: [], set_string: [], set_json: [], file: null },
      icon_uri: 'app://davit-console/helm',
    });
    const repository = { id: repositoryId, url: 'https://charts.example.org', name: expect.any(String) };
    expect(made.source).toEqual({ repository: { chart_name: 'redis', chart_version: '18.1.0', repository } });
    const params = { helmId: made.id };
    expect(await client.call('getHelm', { params })).toEqual(made);
    expect((await client.call('listHelms', { params: { environmentId } })).results).toContainEqual(made);
    const all = await client.call('listServicesByEnvironmentId', { params: { environmentId } });
    expect(all.results).toContainEqual(made);
    const body = { arguments: ['--atomic'], timeout_sec: 0, allow_cluster_wide_resources: true, description: 'cache' };
    const edited = await client.call('editHelm', { params, body });
    expect(edited).toMatchObject({ ...body, name: 'Redis', source: made.source });
    const stage = await client.call('getServiceDeploymentStage', { params: { serviceId: made.id } });
    expect(stage.name).toBe('CONTAINER DEFAULT');
    await client.call('deleteHelm', { params });
    await expect(client.call('getHelm', { params })).rejects.toMatchObject({ status: 404 });
  });

  test('of a git repository, with values of another one, shows both with the names of their tokens', async () => {
    const [own, values] = [await gitToken(), await gitToken()];
    const made = await helm({
      source: { git_repository: { ...git_repository, git_token_id: own.id } },
      values_override: {
        set: [['image.tag', '7']],
        set_string: [['port', '80']],
        set_json: [['hosts', '["a", "b"]']],
        file: { git: { git_repository: { ...git_repository, git_token_id: values.id }, paths: ['values.yaml'] } },
      },
    });
    expect(made.source).toMatchObject({
      git: { git_repository: { ...git_repository, provider: 'GENERIC', git_token_id: own.id, git_token_name: own.name } },
    });
    expect(made.values_override).toMatchObject({
      set: [['image.tag', '7']],
      set_string: [['port', '80']],
      set_json: [['hosts', '["a", "b"]']],
      file: {
        raw: null,
        git: { paths: ['values.yaml'], git_repository: { git_token_id: values.id, git_token_name: values.name } },
      },
    });
    expect(await client.call('getHelm', { params: { helmId: made.id } })).toEqual(made);
    // Both tokens are in use: neither can be deleted, and each is counted.
    for (const gitTokenId of [own.id, values.id]) {
      const params = { organizationId, gitTokenId };
      await expect(client.call('deleteGitToken', { params })).rejects.toMatchObject({ status: 409, code: 'IN_USE' });
      expect((await client.call('getGitTokenAssociatedServices', { params })).results).toMatchObject([{ service_id: made.id }]);
    }
  });

  test('keeps what an edit leaves out, and its values turn from git to raw', async () => {
    const file = { git: { git_repository, paths: ['values.yaml'] } };
    const made = await helm({ values_override: { set: [['a', 'b']], file } });
    const params = { helmId: made.id };
    const raw = { values: [{ name: 'values.yaml', content: 'replicas: 2\n' }] };
    const edited = await client.call('editHelm', { params, body: { values_override: { file: { raw, git: null } } } });
    expect(edited.values_override).toEqual({ set: [['a', 'b']], set_string: [], set_json: [], file: { raw, git: null } });
    const other = await client.call('editHelm', { params, body: { source: { helm_repository: { chart_version: '19' } } } });
    expect(other.source).toMatchObject({ repository: { chart_name: 'redis', chart_version: '19' } });
    const moved = await client.call('editHelm', { params, body: { source: { git_repository } } });
    expect(Object.keys(moved.source)).toEqual(['git']);
    const none = await client.call('editHelm', { params, body: { values_override: { set: null, file: null } } });
    expect(none.values_override).toEqual({ set: [], set_string: [], set_json: [], file: null });
  });

  test('has ports of services by name or selectors, which keep their ids', async () => {
    const service_selectors = [{ key: 'app', value: 'web' }];
    const ports = [
      { internal_port: 80, service_name: 'web' },
      { internal_port: 9000, service_selectors, protocol: 'GRPC' as const, namespace: 'other', name: 'rpc' },
    ];
    const made = await helm({ ports });
    const port = { id: expect.any(String), external_port: 443 };
    expect(made.ports).toEqual([
      {
        ...port,
        port_type: 'SERVICE_NAME',
        name: 'p80',
        internal_port: 80,
        protocol: 'HTTP',
        is_default: true,
        service_name: 'web',
      },
      { ...port, port_type: 'SERVICE_SELECTORS', ...ports[1], is_default: false },
    ]);
    const edited = await client.call('editHelm', { params: { helmId: made.id }, body: { ports: ports.toReversed() } });
    expect(edited.ports?.map(({ id }) => id)).toEqual(made.ports?.map(({ id }) => id).toReversed());
  });

  test.each<[Partial<Body>, string]>([
    [{ source: {} }, 'source'],
    [{ source: { git_repository, helm_repository: { chart_name: 'a' } } }, 'source'],
    [{ source: { git_repository: { ...git_repository, url: 'ssh://git@example.org/a.git' } } }, 'source.git_repository.url'],
    [{ source: { helm_repository: { repository: randomUUID(), chart_name: 'a' } } }, 'source.helm_repository.chart_version'],
    [{ timeout_sec: -1 }, 'timeout_sec'],
    [{ values_override: { set: [['a']] } }, 'values_override.set.0'],
    [{ values_override: { set: [['', 'b']] } }, 'values_override.set.0.0'],
    [{ values_override: { set_json: [['a', '{b}']] } }, 'values_override.set_json.0.1'],
    [
      { values_override: { file: { raw: { values: [{ name: '../a', content: '' }] } } } },
      'values_override.file.raw.values.0.name',
    ],
    [{ values_override: { file: { git: { git_repository, paths: ['../../etc'] } } } }, 'values_override.file.git.paths.0'],
    [{ ports: [{ internal_port: 80 }] }, 'ports.0'],
    [{ ports: [{ internal_port: 80, service_name: 'a', service_selectors: [{ key: 'a', value: 'b' }] }] }, 'ports.0'],
    [{ ports: [{ internal_port: 0, service_name: 'a' }] }, 'ports.0.internal_port'],
    [{ ports: [{ internal_port: 80, service_name: 'a', name: 'P' }] }, 'ports.0.name'],
  ])('with %j is refused at that field', async (body, path) => {
    const { results: before } = await client.call('listHelms', { params: { environmentId } });
    await expect(helm(body)).rejects.toMatchObject({ status: 400, errors: [{ path }] });
    expect((await client.call('listHelms', { params: { environmentId } })).results).toEqual(before);
  });

  test('names a repository and tokens of its own organization only; a repository in use cannot be deleted', async () => {
    const elsewhere = (await server.organization()).id;
    const [repository, token] = [await helmRepository(elsewhere), await gitToken(elsewhere)];
    const refused: [Partial<Body>, string][] = [
      [{ source: { helm_repository: { ...chart().helm_repository, repository } } }, 'source.helm_repository.repository'],
      [{ source: { git_repository: { ...git_repository, git_token_id: token.id } } }, 'source.git_repository.git_token_id'],
      [
        { values_override: { file: { git: { git_repository: { ...git_repository, git_token_id: token.id }, paths: ['a'] } } } },
        'values_override.file.git.git_repository.git_token_id',
      ],
    ];
    for (const [body, path] of refused) {
      await expect(helm(body)).rejects.toMatchObject({ status: 400, code: 'INVALID_REFERENCE', errors: [{ path }] });
    }
    const own = await helmRepository();
    await helm({ source: { helm_repository: { ...chart().helm_repository, repository: own } } });
    const deletion = client.call('deleteHelmRepository', { params: { organizationId, helmRepositoryId: own } });
    await expect(deletion).rejects.toMatchObject({ status: 409, code: 'IN_USE' });
  });

  test('cannot be deployed on the container engine, alone or with its environment, unless it is skipped', async () => {
    const location = await environment();
    const made = await helm({ name: 'redis' }, location);
    const params = { helmId: made.id };
    const refusal = { status: 409, code: 'CLUSTER_KIND_UNSUPPORTED', message: expect.stringContaining('redis is a Helm chart') };
    const source = { dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
    await client.call('createApplication', { params: { environmentId: location }, body: { name: 'web', ...source } });
    const calls = await Promise.allSettled([
      client.call('deployHelm', { params, body: { chart_version: '19' } }),
      client.call('deployHelm', { params, query: { forceEvent: 'DIFF' } }),
      client.call('deployHelm', { params, query: { dry_run: true } }),
      client.call('redeployHelm', { params }),
      client.call('deployEnvironment', { params: { environmentId: location } }),
      client.call('deployAllServices', { params: { environmentId: location }, body: { helms: [{ id: made.id }] } }),
    ]);
    for (const call of calls) expect(call).toMatchObject({ status: 'rejected', reason: refusal });
    expect((await client.call('getHelm', { params })).source).toEqual(made.source);
    await expect(client.call('stopHelm', { params })).rejects.toMatchObject({ status: 409, code: 'NEVER_DEPLOYED' });
    expect(await client.call('uninstallHelm', { params })).toBeUndefined();
    const status = await client.call('getHelmStatus', { params });
    expect(status).toMatchObject({ id: made.id, state: 'READY', service_deployment_status: 'NEVER_DEPLOYED' });
    const statuses = await client.call('getEnvironmentHelmStatus', { params: { environmentId: location } });
    expect(statuses.results).toEqual([status]);
    expect(await client.call('listHelmLinks', { params })).toEqual({ results: [] });
    expect((await client.call('listHelmDeploymentHistory', { params })).results).toEqual([]);
    expect((await client.call('listHelmDeploymentHistoryV2', { params })).results).toEqual([]);
    const stage = await client.call('getServiceDeploymentStage', { params: { serviceId: made.id } });
    const attach = { params: { deploymentStageId: stage.id, serviceId: made.id }, body: { is_skipped: true } };
    await client.call('attachServiceToDeploymentStage', attach);
    await client.call('deployEnvironment', { params: { environmentId: location } });
  });

  test('has variables and secrets of its own scope, and built-in ones', async () => {
    const made = await helm();
    const variable = {
      key: 'COLOR',
      value: 'red',
      is_secret: false,
      variable_scope: 'HELM' as const,
      variable_parent_id: made.id,
    };
    await client.call('createVariable', { body: variable });
    await client.call('createVariable', { body: { ...variable, key: 'KEY', value: 'sesame', is_secret: true } });
    const { results } = await client.call('listVariables', { query: { parent_id: made.id, scope: 'HELM' } });
    const own = results.filter(({ scope }) => scope === 'HELM');
    expect(own.map(({ key, value, is_secret }) => ({ key, value, is_secret }))).toEqual([
      { key: 'COLOR', value: 'red', is_secret: false },
      { key: 'KEY', value: null, is_secret: true },
    ]);
    const short = made.id.slice(0, 8);
    const host = results.find(({ key }) => key === `DAVIT_HELM_Z${short.toUpperCase()}_HOST_INTERNAL`);
    expect(host).toMatchObject({ value: `helm-z${short}`, service_type: 'HELM', scope: 'BUILT_IN' });
  });

  test('is copied with its environment', async () => {
    const location = await environment();
    const made = await helm({ name: 'redis', ports: [{ internal_port: 80, service_name: 'web' }] }, location);
    const copy = await client.call('cloneEnvironment', { params: { environmentId: location }, body: { name: randomUUID() } });
    const [cloned] = (await client.call('listHelms', { params: { environmentId: copy.id } })).results;
    expect(cloned).toMatchObject({ name: 'redis', source: made.source, ports: [{ internal_port: 80, service_name: 'web' }] });
    expect(cloned?.ports?.[0]?.id).not.toBe(made.ports?.[0]?.id);
  });
});
