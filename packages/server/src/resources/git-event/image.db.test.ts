import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { followPreviews, type PreviewClock } from './index.ts';
import { GitFixture } from './testing.ts';

let fixture: GitFixture;
let clock: PreviewClock;
let registry_id: string;
beforeAll(async () => {
  fixture = await GitFixture.open({ DAVIT_PREVIEWS_PER_ENVIRONMENT: '3' });
  clock = followPreviews(fixture.server.api.deps, { warn: (details, message) => console.warn(message, details) });
  const body = { name: 'registry', kind: 'GENERIC_CR' as const, url: 'https://registry.example.org/team', config: {} };
  registry_id = (await fixture.api.call('createContainerRegistry', { params: { organizationId: fixture.owner.id }, body })).id;
});
afterAll(async () => {
  await clock.stop();
  await fixture.close();
});

const organization = () => ({ params: { organizationId: fixture.owner.id } });
const tag = (image_name: string, to: string) => ({ ...organization(), body: { image_name, tag: to } });

async function container(environmentId: string, image_name: string, body: object = {}): Promise<string> {
  const whole = { name: `c ${randomUUID()}`, registry_id, image_name, tag: '1', auto_deploy: true, auto_preview: false, ...body };
  return (await fixture.api.call('createContainer', { params: { environmentId }, body: whole })).id;
}

async function deployed(containerId: string): Promise<void> {
  await fixture.eventually(
    async () => (await fixture.api.call('getContainerStatus', { params: { containerId } })).state === 'DEPLOYED',
    'the container',
  );
}

test('a new tag goes to the containers of the image that have auto_deploy, and to no others', async () => {
  const image = `web-${randomUUID()}`;
  const environmentId = await fixture.environment();
  const [one, two, off, other] = [
    await container(environmentId, image),
    await container(environmentId, image),
    await container(environmentId, image, { auto_deploy: false }),
    await container(environmentId, `other-${image}`),
  ];
  const never = await container(await fixture.environment(), image);
  await fixture.api.call('deployEnvironment', { params: { environmentId } });
  for (const id of [one, two, off, other]) await deployed(id);
  const answer = await fixture.api.call('autoDeployContainerEnvironments', tag(`registry.example.org/team/${image}`, '2'));
  expect([one, two]).toContain(answer.id);
  const verdicts = new Map(answer.verdicts.map(({ service_id, verdict, reason }) => [service_id, [verdict, reason]]));
  expect(verdicts.get(one)).toEqual(['DEPLOYED', 'the tag is now 2']);
  expect(verdicts.get(two)?.[0]).toBe('DEPLOYED');
  expect(verdicts.get(off)).toEqual(['IGNORED', 'auto_deploy is off']);
  expect(verdicts.get(never)?.[1]).toContain('never deployed');
  expect(verdicts.has(other)).toBe(false);
  const tags = [];
  for (const id of [one, two, off]) tags.push((await fixture.api.call('getContainer', { params: { containerId: id } })).tag);
  expect(tags).toEqual(['2', '2', '1']);
  await deployed(one);
  const history = await fixture.api.call('listContainerDeploymentHistoryV2', { params: { containerId: one } });
  expect(history.results[0]).toMatchObject({ auditing_data: { origin: 'SERVICE_INTERNAL', triggered_by: 'token WRITE' } });
});

test('a new tag goes to the jobs of the image', async () => {
  const image = `job-${randomUUID()}`;
  const environmentId = await fixture.environment();
  const source = { image: { registry_id, image_name: image, tag: '1' } };
  const body = { name: 'migrate', healthchecks: {}, source, schedule: { on_start: {} }, auto_deploy: true };
  const { id } = await fixture.api.call('createJob', { params: { environmentId }, body });
  await expect(fixture.api.call('autoDeployJobEnvironments', tag(image, '2'))).rejects.toMatchObject({
    status: 404,
    message: expect.stringContaining('never deployed'),
  });
  await fixture.api.call('deployJob', { params: { jobId: id } });
  const answer = await fixture.api.call('autoDeployJobEnvironments', tag(image, '2'));
  expect(answer).toMatchObject({ id, verdicts: [{ verdict: 'DEPLOYED' }] });
});

test('an image that nothing runs is told, as is what is no tag', async () => {
  await expect(fixture.api.call('autoDeployContainerEnvironments', tag('nobody', '2'))).rejects.toMatchObject({ status: 404 });
  for (const word of ['', 'with blank', '../x', 'a:b']) {
    const call = fixture.api.call('autoDeployContainerEnvironments', tag('nobody', word));
    await expect(call).rejects.toMatchObject({ status: 400, errors: [{ path: 'tag' }] });
  }
  const stranger = await fixture.server.organization();
  const theirs = fixture.server.client(stranger.tokens.WRITE);
  await expect(theirs.call('autoDeployContainerEnvironments', tag('nobody', '2'))).rejects.toMatchObject({ status: 404 });
});

test('a preview of a tag is a copy of the environment with it, once for each tag', async () => {
  const image = `web-${randomUUID()}`;
  const environmentId = await fixture.environment('shop');
  await container(environmentId, image, { name: 'web', auto_preview: true });
  await container(environmentId, 'redis', { name: 'cache' });
  const answer = await fixture.api.call('previewContainerEnvironments', tag(image, 'pr-7'));
  expect(answer.verdicts).toMatchObject([{ verdict: 'PREVIEWED' }]);
  const previews = async () =>
    (await fixture.api.call('listEnvironment', { params: { projectId: fixture.projectId } })).results.filter(
      ({ mode }) => mode === 'PREVIEW',
    );
  const [preview] = await previews();
  expect(preview?.name).toBe(`${image} pr-7: shop`);
  const { results } = await fixture.api.call('listContainer', { params: { environmentId: preview?.id ?? '' } });
  expect(results).toMatchObject([
    { name: 'web', tag: 'pr-7', auto_deploy: false },
    { name: 'cache', tag: '1' },
  ]);
  for (const { id } of results) await deployed(id);
  await fixture.api.call('previewContainerEnvironments', tag(image, 'pr-7'));
  expect(await previews()).toHaveLength(1);
});

test('tags that arrive at the same time make no more previews than an environment may have', async () => {
  const image = `web-${randomUUID()}`;
  const environmentId = await fixture.environment();
  await container(environmentId, image, { name: 'web', auto_preview: true });
  const answers = await Promise.allSettled(
    Array.from({ length: 6 }, (_, index) => fixture.api.call('previewContainerEnvironments', tag(image, `pr-${index}`))),
  );
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
  for (const reason of refused) {
    expect(reason).toMatchObject({ code: 'IN_USE', message: 'The environment has 3 previews, and 3 are allowed at once.' });
  }
});
