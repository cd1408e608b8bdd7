import { statement } from '@davit/db';
import { backupIsGood, databaseRuns } from '../../resources/event/testing/databases.ts';
import { keyed, named, source, type Ids, type EventFixture } from '../../resources/event/testing/fixture.ts';

/** The kinds of things that a field of a request may name. */
export type Thing = keyof typeof makers;

/** Things in an environment, and the environment itself. */
const inEnvironment: ReadonlySet<string> = new Set([
  'environmentId',
  'applicationId',
  'containerId',
  'databaseId',
  'jobId',
  'helmId',
  'terraformId',
  'variableId',
  'backupId',
  'deploymentRequestId',
]);

interface Where {
  readonly organizationId: string;
  /** Ids of existing things. */
  readonly ids?: Ids;
  /** Mode of a new environment in the project of `ids`. If set, all things in the environment are new as well. */
  readonly mode?: string;
}

/** One thing of each kind in an organization, each created when it is first requested. */
export class Things {
  readonly change: EventFixture;
  readonly organizationId: string;
  readonly mode: string | undefined;
  readonly #ids: Map<string, string>;

  constructor(fixture: EventFixture, { organizationId, ids = {}, mode }: Where) {
    this.change = fixture;
    this.organizationId = organizationId;
    this.mode = mode;
    this.#ids = new Map(Object.entries(ids).filter(([name]) => mode === undefined || !inEnvironment.has(name)));
  }

  async get(thing: Thing): Promise<string> {
    const id = this.#ids.get(thing) ?? (await makers[thing](this));
    this.#ids.set(thing, id);
    return id;
  }

  /** Ids of all things requested so far. */
  get known(): readonly string[] {
    return [...this.#ids.values()];
  }

  /**
   * Creates a named thing by a POST to a path below the organization or, with a leading slash, to any path. Returns the
   * id.
   */
  make(path: string, body: object): Promise<string> {
    return this.change.make(path.startsWith('/') ? path : `/organization/${this.organizationId}/${path}`, {
      ...named(),
      ...body,
    });
  }

  async makeService(noun: string, body: object): Promise<string> {
    return this.make(`/environment/${await this.get('environmentId')}/${noun}`, body);
  }
}

const image = async (things: Things): Promise<object> => ({
  registry_id: await things.get('containerRegistryId'),
  image_name: 'cache',
  tag: '7',
});

const makers = {
  projectId: (things: Things) => things.make('project', {}),
  clusterId: async ({ change: fixture, organizationId }: Things) => {
    const { results } = await fixture.server.client().call('listOrganizationCluster', { params: { organizationId } });
    return results[0]?.id ?? '';
  },
  /** A cluster on which the role of the tests may not create environments. */
  otherClusterId: (things: Things) => things.make('cluster', { region: 'eu-west-3', cloud_provider: 'AWS' }),
  environmentId: async (things: Things) =>
    things.make(`/project/${await things.get('projectId')}/environment`, things.mode === undefined ? {} : { mode: things.mode }),
  containerRegistryId: (things: Things) =>
    things.make('containerRegistry', { kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} }),
  helmRepositoryId: (things: Things) =>
    things.make('helmRepository', { kind: 'HTTPS', url: 'https://charts.example.org', skip_tls_verification: false, config: {} }),
  gitTokenId: (things: Things) => things.make('gitToken', { type: 'HOSTA', token: 'sesame' }),
  annotationsGroupId: (things: Things) => things.make('annotationsGroups', { annotations: [], scopes: ['PODS'] }),
  labelsGroupId: (things: Things) => things.make('labelsGroups', { labels: [] }),
  credentialsId: (things: Things) =>
    things.make('aws/credentials', { type: 'AWS_STATIC', access_key_id: 'key', secret_access_key: 'sesame' }),
  customRoleId: (things: Things) => things.make('customRole', {}),
  userId: async ({ change: fixture, organizationId }: Things) => {
    const name = named().name.replace(' ', '-');
    const invitation = await fixture.make(`/organization/${organizationId}/inviteMember`, { email: `${name}@example.org` });
    const person = await fixture.issuer.person(name);
    await fixture.make(`/organization/${organizationId}/inviteMember/${invitation}`, undefined, person);
    return (await fixture.server.client(person).call('getAccountInformation', {})).id;
  },
  applicationId: (things: Things) => things.makeService('application', source),
  containerId: async (things: Things) => things.makeService('container', await image(things)),
  databaseId: (things: Things) => things.makeService('database', { type: 'POSTGRESQL', version: '16', mode: 'CONTAINER' }),
  jobId: async (things: Things) =>
    things.makeService('job', { healthchecks: {}, source: { image: await image(things) }, schedule: { on_start: {} } }),
  helmId: (things: Things) => things.makeService('helm', { source }),
  terraformId: (things: Things) => things.makeService('terraform', { terraform_files_source: source }),
  deploymentRuleId: async (things: Things) =>
    things.make(`/project/${await things.get('projectId')}/deploymentRule`, {
      auto_stop: true,
      timezone: 'UTC',
      start_time: '1970-01-01T08:00:00Z',
      stop_time: '1970-01-01T18:00:00Z',
      weekdays: ['MONDAY'],
      mode: 'STAGING',
      cluster_id: await things.get('clusterId'),
    }),
  deploymentRequestId: async (things: Things) => things.make(`/application/${await things.get('applicationId')}/deploy`, {}),
  variableId: async (things: Things) =>
    things.change.make(`/environment/${await things.get('environmentId')}/environmentVariable`, keyed()),
  releaseId: async (things: Things): Promise<string> => {
    const serviceId = await things.get('applicationId');
    await things.make(`/application/${serviceId}/deploy`, {});
    return (await things.change.server.database.database.one(releaseOf, [serviceId])).id;
  },
  backupId: async (things: Things): Promise<string> => {
    const databaseId = await things.get('databaseId');
    const { database } = things.change.server.database;
    await database.run(databaseRuns, [databaseId]);
    const id = await things.make(`/database/${databaseId}/backup`, { message: '' });
    await database.run(backupIsGood, [id]);
    return id;
  },
};

const releaseOf = statement<{ id: string }>(
  'test_release_of_named_places',
  'select id from release where service_id = $1 limit 1',
);
