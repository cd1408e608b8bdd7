import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeFirstRunToken } from '../../packages/server/src/resources/account/index.ts';
import { byKeyboard, type Step } from './keyboard.ts';
import { endJobs } from './shop.ts';
import { startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

interface Task {
  readonly name: string;
  /** Address of the page on which the task begins. */
  readonly at: (world: World) => string;
  /** The right that the task needs; null: the person signs in. Default: WRITE. */
  readonly scope?: 'ADMIN' | null;
  /** Arranges what the task begins with. */
  readonly before?: (world: World) => Promise<void>;
  readonly steps: (world: World) => readonly Step[];
}

const person = { email: 'ada@example.org', password: 'correct horse battery' };
const enter = { press: 'Enter' } as const;
const serviceIn = ({ production, services }: World, name: keyof World['services']): string =>
  `/environment/${production}/service/${services[name]}`;

/** Returns how many deployments of the service web succeeded. */
async function deploymentsOfWeb({ api, services }: World): Promise<number> {
  const { results } = await api.call('listApplicationDeploymentHistoryV2', { params: { applicationId: services.web } });
  return results.filter(({ status }) => status === 'DEPLOYED').length;
}

const isDeployed = (there: World, times: number): Step => ({
  until: async () => {
    await expect.poll(() => deploymentsOfWeb(there), { timeout: 20_000 }).toBe(times);
  },
});

const tasks: readonly Task[] = [
  {
    name: 'sign in',
    at: () => '/',
    scope: null,
    before: async ({ server }) => {
      const token = (await makeFirstRunToken(server.api.deps)) ?? '';
      await server.client().call('createFirstAccount', { body: { token, ...person, name: 'Ada', organization_name: 'Bakery' } });
    },
    steps: () => [
      { to: 'E-mail address' },
      { type: person.email },
      { to: 'Password' },
      { type: 'not this one' },
      enter,
      { see: 'The e-mail address or the password is wrong.' },
      { at: 'Password' },
      { press: 'Control+a' },
      { type: person.password },
      enter,
      { see: 'Overview' },
    ],
  },
  {
    name: 'find a service by the palette',
    at: () => '/',
    steps: () => [
      { to: 'Find' },
      enter,
      { press: 'Escape' },
      { at: 'Find' },
      { press: 'Control+k' },
      { type: 'production worker' },
      { see: 'Shop / production' },
      enter,
      { at: 'worker' },
    ],
  },
  {
    name: 'deploy',
    at: (there) => serviceIn(there, 'web'),
    before: async ({ api, server, services }) => {
      endJobs(server, services.migrate);
      await api.call('editApplication', { params: { applicationId: services.web }, body: { memory: 700 } });
    },
    steps: (there) => [{ to: 'Deploy' }, enter, isDeployed(there, 2), { at: 'Deploy' }],
  },
  {
    name: 'read why a deployment failed',
    at: () => '/',
    steps: () => [
      { to: /^Shop \/ production \/ api/ },
      enter,
      { see: 'listening on 127.0.0.1:8080' },
      { to: 'Open deployment 2' },
      enter,
      { see: 'PORT_NOT_LISTENING' },
    ],
  },
  {
    name: 'search and pause logs',
    at: (there) => `${serviceIn(there, 'worker')}/logs`,
    before: async ({ server, services }) => {
      const [instance] = server.fake.instances.filter(({ service }) => service === services.worker);
      for (let index = 0; index < 30; index += 1) server.fake.print(instance?.id ?? '', `line ${index}`);
      return Promise.resolve();
    },
    steps: ({ server, services }) => [
      { see: 'line 29' },
      { to: 'Search the loaded lines' },
      { type: 'LINE 17' },
      { see: '1 of 30 lines' },
      { to: 'Pause' },
      { press: 'Space' },
      {
        until: async () => {
          const [instance] = server.fake.instances.filter(({ service }) => service === services.worker);
          server.fake.print(instance?.id ?? '', 'line 17 again');
          return Promise.resolve();
        },
      },
      { at: 'Continue, 1 new line' },
      { press: 'Space' },
      { see: '2 of 31 lines' },
      { at: 'Pause' },
    ],
  },
  {
    name: 'set a variable',
    at: (there) => `${serviceIn(there, 'web')}/variables`,
    steps: ({ api, services }) => [
      { to: /^Add$/ },
      enter,
      { to: 'Key' },
      // The shortcut of the finder does not lead away from a dialog.
      { press: 'Control+k' },
      { at: 'Key' },
      { type: 'LEVEL' },
      { to: 'Value' },
      { type: 'debug' },
      { to: 'Add to the changes' },
      enter,
      { at: /^Add$/ },
      { to: 'Review 1 change' },
      enter,
      { see: '+ LEVEL=debug' },
      { to: /^Save/ },
      enter,
      {
        until: async () => {
          const query = { parent_id: services.web, scope: 'APPLICATION' } as const;
          const read = async () =>
            (await api.call('listVariables', { query })).results.map(({ key, value }) => `${key}=${value}`);
          await expect.poll(read).toContain('LEVEL=debug');
        },
      },
    ],
  },
  {
    name: 'roll back',
    at: (there) => `${serviceIn(there, 'web')}/history?only=deployments`,
    steps: (there) => [
      { to: /^Compare deployment 1$/ },
      { to: 'Roll back' },
      enter,
      { see: 'memory' },
      { to: /^Roll back$/ },
      enter,
      isDeployed(there, 3),
      { at: 'Roll back' },
    ],
  },
  {
    name: 'add a domain',
    at: (there) => `${serviceIn(there, 'web')}/domains`,
    steps: () => [
      { to: 'Add a domain' },
      enter,
      { to: 'Domain' },
      { type: 'shop.davit-test.invalid' },
      { to: 'Issue and renew a certificate' },
      { press: 'Space' },
      { to: /^Add$/ },
      enter,
      { see: 'CNAME' },
    ],
  },
  {
    name: 'create a service',
    at: ({ staging }) => `/environment/${staging}`,
    steps: () => [
      { to: 'New service' },
      enter,
      { to: 'Application' },
      enter,
      { to: 'Name' },
      { type: 'blog' },
      enter,
      { at: 'Repository' },
      { type: 'https://git.example.org/acme/blog.git' },
      enter,
      { at: 'blog' },
    ],
  },
  {
    name: 'invite a member',
    at: ({ organization }) => `/organization/${organization.id}/members`,
    scope: 'ADMIN',
    steps: () => [
      { to: 'New invitation' },
      enter,
      { to: 'E-mail address' },
      { type: 'grace@example.org' },
      { to: 'Role' },
      { type: 'Dev' },
      { to: 'Create invitation' },
      enter,
      { see: 'It works once' },
      { to: 'I have stored it' },
      enter,
      { at: 'New invitation' },
      { to: 'Delete grace@example.org' },
      enter,
      { to: /^Delete$/ },
      enter,
      // The button is gone with its row.
      { at: 'Invitations' },
    ],
  },
];

test.each(tasks)(
  '$name by keyboard alone, with the focus in view at each step',
  async (task: Task) => {
    const { at, scope = 'WRITE', before, steps } = task;
    const { browser, proxy, organization } = world;
    await before?.(world);
    const page = scope === null ? await browser.context.newPage() : await world.open(at(world), organization.tokens[scope]);
    if (scope === null) await page.goto(`${proxy.baseUrl}/console${at(world)}`);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await byKeyboard(page, steps(world));
    expect(world.complaints).toEqual([]);
    await page.close();
  },
  90_000,
);
