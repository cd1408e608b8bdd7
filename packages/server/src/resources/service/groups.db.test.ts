import { randomUUID } from 'node:crypto';
import type { CallInput, Client } from '@davit/client';
import { statement } from '@davit/db';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Groups of annotations and labels, and the applications that use them. */
let server: TestServer;
let client: Client;
let params: { organizationId: string };
let environmentId: string;
beforeAll(async () => {
  server = await startTestServer();
  client = server.client();
  params = { organizationId: (await server.organization()).id };
  const project = await client.call('createProject', { params, body: { name: 'shop' } });
  environmentId = (await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } })).id;
});
afterAll(() => server.close());

type AnnotationsBody = CallInput<'createOrganizationAnnotationsGroup'>['body'];
const annotationGroup = (body: Partial<AnnotationsBody> = {}, ids = params) =>
  client.call('createOrganizationAnnotationsGroup', {
    params: ids,
    body: { name: randomUUID(), annotations: [{ key: 'example.org/team', value: 'blue team' }], scopes: ['PODS'], ...body },
  });
type LabelsBody = CallInput<'createOrganizationLabelsGroup'>['body'];
const label = { key: 'team', value: 'blue', propagate_to_cloud_provider: false };
const labelGroup = (body: Partial<LabelsBody> = {}, ids = params) =>
  client.call('createOrganizationLabelsGroup', { params: ids, body: { name: randomUUID(), labels: [label], ...body } });

type ApplicationBody = CallInput<'createApplication'>['body'];
const application = (body: Partial<ApplicationBody> = {}) =>
  client.call('createApplication', {
    params: { environmentId },
    body: {
      name: randomUUID(),
      dockerfile_path: 'Dockerfile',
      git_repository: { url: 'https://git.example.org/shop/web.git' },
      ...body,
    },
  });

describe('a group', () => {
  test('of annotations is created, read, listed, edited and deleted', async () => {
    const own = { organizationId: (await server.organization()).id };
    const made = await annotationGroup({ name: 'a', scopes: ['PODS', 'JOBS', 'PODS'] }, own);
    const annotations = [{ key: 'example.org/team', value: 'blue team' }];
    expect(made).toMatchObject({ name: 'a', annotations, scopes: ['PODS', 'JOBS'], created_at: expect.any(String) });
    const ids = { ...own, annotationsGroupId: made.id };
    expect(await client.call('getOrganizationAnnotationsGroup', { params: ids })).toEqual(made);
    const listed = await client.call('listOrganizationAnnotationsGroup', { params: own });
    expect(listed).toEqual({ results: [{ ...made, associated_items_count: 0 }] });
    const body: AnnotationsBody = { name: 'A', annotations: [{ key: 'k', value: '' }], scopes: ['INGRESS'] };
    expect(await client.call('editOrganizationAnnotationsGroup', { params: ids, body })).toMatchObject({
      id: made.id,
      ...body,
    });
    await client.call('deleteOrganizationAnnotationsGroup', { params: ids });
    await expect(client.call('getOrganizationAnnotationsGroup', { params: ids })).rejects.toMatchObject({ status: 404 });
  });

  test('of labels is created, read, listed, edited and deleted', async () => {
    const own = { organizationId: (await server.organization()).id };
    const made = await labelGroup({ name: 'l' }, own);
    expect(made).toMatchObject({ name: 'l', labels: [label] });
    const ids = { ...own, labelsGroupId: made.id };
    expect(await client.call('getOrganizationLabelssGroup', { params: ids })).toEqual(made);
    const listed = await client.call('listOrganizationLabelsGroup', { params: own });
    expect(listed).toEqual({ results: [{ ...made, associated_items_count: 0 }] });
    const body: LabelsBody = { name: 'L', labels: [{ key: 'k', value: '', propagate_to_cloud_provider: true }] };
    expect(await client.call('editOrganizationLabelsGroup', { params: ids, body })).toMatchObject({ id: made.id, ...body });
    await client.call('deleteOrganizationLabelsGroup', { params: ids });
    await expect(client.call('getOrganizationLabelssGroup', { params: ids })).rejects.toMatchObject({ status: 404 });
  });

  test('with a key or value that clusters would refuse is refused, each place named', async () => {
    const keys = ['ok', '-bad', 'a/b/c', 'Big.Domain/x', 'x'.repeat(64), 'ok', 'with blank', `${'d.'.repeat(130)}d/x`];
    const annotations = keys.map((key) => ({ key, value: 'x' }));
    const wrong = [1, 2, 3, 4, 5, 6, 7];
    await expect(annotationGroup({ annotations })).rejects.toMatchObject({
      status: 400,
      errors: wrong.map((index) => ({ path: `annotations.${index}.key` })),
    });
    const labels = ['blue', '', '-x', 'a b'].map((value, index) => ({ ...label, key: `k${index}`, value }));
    await expect(labelGroup({ labels })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'labels.2.value' }, { path: 'labels.3.value' }],
    });
    const response = await fetch(`${server.baseUrl}/organization/${params.organizationId}/annotationsGroups`, {
      method: 'POST',
      headers: { authorization: `Token ${server.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'x', annotations: [{ key: 'k' }], scopes: ['PODS', 'ELSEWHERE'] }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ errors: [{ path: 'annotations.0.value' }, { path: 'scopes.1' }] });
  });

  test('with a key by which Davit finds what it made is refused, also when it is edited', async () => {
    const reserved = { key: 'davit.schedule', value: 'x' };
    const refusal = (path: string) => ({
      status: 400,
      errors: [{ path, message: expect.stringContaining('begins with davit.') }],
    });
    await expect(annotationGroup({ annotations: [reserved] })).rejects.toMatchObject(refusal('annotations.0.key'));
    const labels = [label, { ...label, ...reserved }];
    await expect(labelGroup({ labels })).rejects.toMatchObject(refusal('labels.1.key'));
    const { id, name } = await labelGroup();
    const edit = { params: { ...params, labelsGroupId: id }, body: { name, labels } };
    await expect(client.call('editOrganizationLabelsGroup', edit)).rejects.toMatchObject(refusal('labels.1.key'));
  });

  test('has a name of its own in the organization, of two at once too', async () => {
    for (const make of [annotationGroup, labelGroup]) {
      const name = `name ${randomUUID()}`;
      const results = await Promise.allSettled([make({ name }), make({ name: name.toUpperCase() })]);
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { status: 409, code: 'NAME_TAKEN' } });
    }
  });
});

describe('an application', () => {
  test('has its groups in full, in their order, wherever it is read', async () => {
    const [first, second, labels] = [await annotationGroup(), await annotationGroup(), await labelGroup()];
    const made = await application({
      annotations_groups: [{ id: second.id.toUpperCase() }, { id: first.id }],
      labels_groups: [{ id: labels.id }],
    });
    const groups = { annotations_groups: [second, first], labels_groups: [labels] };
    expect(made).toMatchObject(groups);
    const ids = { applicationId: made.id };
    expect(await client.call('getApplication', { params: ids })).toEqual(made);
    const { results } = await client.call('listApplication', { params: { environmentId } });
    expect(results.find(({ id }) => id === made.id)).toEqual(made);
    // An edit of other members keeps the groups, and so does an edit that sends back the record.
    expect(await client.call('editApplication', { params: ids, body: { description: 'x' } })).toMatchObject(groups);
    const { git_repository: _git, ...body } = made;
    expect(await client.call('editApplication', { params: ids, body })).toMatchObject(groups);
    const fewer = { annotations_groups: [{ id: first.id }], labels_groups: null };
    const edited = await client.call('editApplication', { params: ids, body: fewer });
    expect([edited.annotations_groups, edited.labels_groups]).toEqual([[first], []]);
    // An edit of a group appears in the records of the services that use it.
    const renamed = { ...params, annotationsGroupId: first.id };
    await client.call('editOrganizationAnnotationsGroup', { params: renamed, body: { ...first, name: `new ${first.name}` } });
    expect((await client.call('getApplication', { params: ids })).annotations_groups?.[0]?.name).toBe(`new ${first.name}`);
  });

  test('does not take groups that do not exist or belong to another organization, and then changes nothing', async () => {
    const elsewhere = { organizationId: (await server.organization()).id };
    const [own, foreign, labels] = [
      await annotationGroup(),
      await annotationGroup({}, elsewhere),
      await labelGroup({}, elsewhere),
    ];
    const made = await application();
    for (const id of [foreign.id, randomUUID()]) {
      const body = { annotations_groups: [{ id: own.id }, { id }] };
      const refusal = { status: 400, code: 'INVALID_REFERENCE', errors: [{ path: 'annotations_groups.1.id' }] };
      await expect(application(body)).rejects.toMatchObject(refusal);
      await expect(client.call('editApplication', { params: { applicationId: made.id }, body })).rejects.toMatchObject(refusal);
    }
    await expect(application({ labels_groups: [{ id: labels.id }] })).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_REFERENCE',
      errors: [{ path: 'labels_groups.0.id' }],
    });
    expect(await client.call('getApplication', { params: { applicationId: made.id } })).toEqual(made);
  });

  test('keeps its groups from being deleted, which say that it uses them', async () => {
    const [annotations, labels] = [await annotationGroup(), await labelGroup()];
    const made = await application({
      name: 'storefront',
      annotations_groups: [{ id: annotations.id }],
      labels_groups: [{ id: labels.id }],
    });
    const ids = { ...params, annotationsGroupId: annotations.id, labelsGroupId: labels.id };
    const item = {
      item_id: made.id,
      item_name: 'storefront',
      item_type: 'APPLICATION',
      environment_name: 'live',
      project_name: 'shop',
    };
    const lists = [
      await client.call('getOrganizationAnnotationsGroupAssociatedItems', { params: ids }),
      await client.call('getOrganizationLabelsGroupAssociatedItems', { params: ids }),
    ];
    for (const { results } of lists)
      expect(results).toMatchObject([{ ...item, cluster_name: 'Local', environment_id: environmentId }]);
    const listed = await client.call('listOrganizationLabelsGroup', { params });
    expect(listed.results.find(({ id }) => id === labels.id)).toMatchObject({ associated_items_count: 1 });
    const refusal = { status: 409, code: 'IN_USE', message: expect.stringContaining('storefront') };
    await expect(client.call('deleteOrganizationAnnotationsGroup', { params: ids })).rejects.toMatchObject(refusal);
    await expect(client.call('deleteOrganizationLabelsGroup', { params: ids })).rejects.toMatchObject(refusal);
    const body = { annotations_groups: [], labels_groups: [] };
    await client.call('editApplication', { params: { applicationId: made.id }, body });
    await client.call('deleteOrganizationAnnotationsGroup', { params: ids });
    await client.call('deleteOrganizationLabelsGroup', { params: ids });
  });

  test('and the deletion of its group at the same moment: one of them comes first', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id } = await annotationGroup();
      const [made, deleted] = await Promise.allSettled([
        application({ annotations_groups: [{ id }] }),
        client.call('deleteOrganizationAnnotationsGroup', { params: { ...params, annotationsGroupId: id } }),
      ]);
      expect([made.status, deleted.status].sort()).toEqual(['fulfilled', 'rejected']);
      const loser = [made, deleted].find(({ status }) => status === 'rejected');
      const code = made.status === 'rejected' ? 'INVALID_REFERENCE' : 'IN_USE';
      expect(loser).toMatchObject({ reason: { code } });
    }
  });
});

test('the services of a group are found by its index', async () => {
  const plan = statement<{ 'QUERY PLAN': string }>(
    'test_plan_of_group_users',
    `explain select 1 from service where spec ? 'labels_groups' and spec -> 'labels_groups' ? '${randomUUID()}'`,
  );
  const lines = await server.database.database.transaction(async (tx) => {
    await tx.run(statement('test_without_scans', 'set local enable_seqscan = off'));
    return tx.many(plan);
  });
  expect(lines.map((line) => line['QUERY PLAN']).join('\n')).toContain('service_label_group');
});
