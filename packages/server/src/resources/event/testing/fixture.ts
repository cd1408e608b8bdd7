import { randomUUID } from 'node:crypto';
import type { Operation } from '@davit/contract';
import { statement } from '@davit/db';
import { TestIssuer } from '@davit/testkit/issuer';
import { startTestServer, type TestServer, type TestServerOptions } from '@davit/testkit/server';

export type Ids = Readonly<Record<string, string>>;

/** A call of an operation that changes something. */
export interface Recipe {
  /**
   * Returns the path parameters and the ids that the body needs. Creates the target of the call unless the target is
   * shared.
   */
  readonly ids: (fixture: EventFixture) => Ids | Promise<Ids>;
  readonly body?: (ids: Ids) => unknown;
  readonly query?: (ids: Ids) => string;
  /** Name of the person who calls, if not the instance administrator. */
  readonly person?: string;
  /** The expected event in the log. Empty: no event, see `silent`. */
  readonly event: string;
}

export type Recipes = Readonly<Record<string, Recipe>>;

export interface Sent {
  readonly status: number;
  readonly text: string;
  /** The events that the log has for the call. */
  readonly events: readonly string[];
}

const events = statement<{ event: string }>(
  'test_events_of_operation',
  `select concat_ws(' ', event_type, target_type, sub_target_type) as event from audit_event where operation = $1 and sequence > $2
    order by sequence`,
);
const last = statement<{ sequence: number }>('test_event_last', 'select coalesce(max(sequence), 0) as sequence from audit_event');

export const source = { dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };
export const named = (): { name: string } => ({ name: `n ${randomUUID()}` });
/** A key and a value that no variable has yet. */
export const keyed = (): { key: string; value: string } => ({ key: `K${randomUUID().replaceAll('-', '')}`, value: 'v' });

/** Id of a template that comes with Davit. */
const lifecycleTemplateId = '5e0d3f0a-6c1b-4a57-9a53-0f3f7c6a1001';

/** A server with an organization that has one of everything, and methods to create more. */
export class EventFixture {
  readonly server: TestServer;
  readonly issuer: TestIssuer;
  readonly organizationId: string;
  /** Ids that calls share, because these calls do not delete anything of them. */
  here: Ids = {};

  private constructor(server: TestServer, issuer: TestIssuer, organizationId: string) {
    this.server = server;
    this.issuer = issuer;
    this.organizationId = organizationId;
  }

  /** `options`: options of the server, in addition to its issuer. */
  static async open(options: TestServerOptions = {}): Promise<EventFixture> {
    const issuer = await TestIssuer.start();
    const environment = { DAVIT_OIDC_ISSUER: issuer.url, DAVIT_OIDC_AUDIENCE: 'davit', ...options.environment };
    const server = await startTestServer({ ...options, environment });
    const fixture = new EventFixture(server, issuer, (await server.organization('owner')).id);
    const registry = { name: 'shared', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} };
    const containerRegistryId = await fixture.make('containerRegistry', registry);
    const { organizationId } = fixture;
    const clusters = await server.client().call('listOrganizationCluster', { params: { organizationId } });
    fixture.here = { organizationId, containerRegistryId, clusterId: clusters.results[0]?.id ?? '' };
    fixture.here = await fixture.fresh();
    return fixture;
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.issuer.close();
  }

  async #fetch(call: string, token: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const [method = '', path = ''] = call.split(' ');
    return fetch(`${this.server.baseUrl}${path}`, {
      method,
      headers: { authorization: `Token ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /**
   * Sends a POST. The path is below the organization unless it begins with a slash. Returns the id of the created
   * record.
   */
  async make(path: string, body?: unknown, token = this.server.adminToken): Promise<string> {
    const whole = path.startsWith('/') ? path : `/organization/${this.organizationId}/${path}`;
    const response = await this.#fetch(`POST ${whole}`, token, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${whole}: ${response.status} ${text}`);
    const made: { id?: string; deployment_request_id?: string } = JSON.parse(text);
    return made.deployment_request_id ?? made.id ?? '';
  }

  /** Sends a request that changes something, such as `PUT /application/…`. Throws if the request fails. */
  async change(call: string, body: unknown): Promise<void> {
    const response = await this.#fetch(call, this.server.adminToken, body);
    if (!response.ok) throw new Error(`${call}: ${response.status} ${await response.text()}`);
  }

  async read(path: string): Promise<unknown> {
    const response = await this.#fetch(`GET ${path}`, this.server.adminToken);
    return JSON.parse(await response.text());
  }

  /** Creates a project with an environment that has a service of each type. */
  async fresh(): Promise<Ids> {
    const projectId = await this.make('project', named());
    const environmentId = await this.make(`/project/${projectId}/environment`, { name: 'live' });
    const at = `/environment/${environmentId}`;
    const applicationId = await this.make(`${at}/application`, { name: 'web', ...source });
    const image = { registry_id: this.here['containerRegistryId'], image_name: 'cache', tag: '7' };
    const containerId = await this.make(`${at}/container`, { name: 'cache', ...image });
    const job = { healthchecks: {}, source: { image }, schedule: { on_start: {} } };
    const jobId = await this.make(`${at}/job`, { name: 'migrate', ...job });
    const postgres = { type: 'POSTGRESQL', version: '16', mode: 'CONTAINER' };
    const databaseId = await this.make(`${at}/database`, { name: 'store', ...postgres });
    // The Helm chart is in an environment of its own, because an environment with a chart is not deployed.
    const charts = await this.make(`/project/${projectId}/environment`, { name: 'charts' });
    const helmId = await this.make(`/environment/${charts}/helm`, { name: 'chart', source });
    const terraformId = await this.make(`${at}/terraform`, { name: 'infra', terraform_files_source: source });
    const services = { applicationId, containerId, jobId, databaseId, helmId, terraformId };
    return {
      ...this.here,
      projectId,
      environmentId,
      ...services,
      serviceId: applicationId,
      serviceType: 'APPLICATION',
      lifecycleTemplateId,
    };
  }

  /** Creates a project like `fresh`, with a waiting deployment of one of its services. */
  async deployed(noun = 'application'): Promise<Ids> {
    const ids = await this.fresh();
    return { ...ids, deploymentRequestId: await this.make(`/${noun}/${ids[`${noun}Id`]}/deploy`) };
  }

  /** Makes a person with this name a member. Returns the id of the person. */
  async member(name: string): Promise<string> {
    const invitation = await this.make('inviteMember', { email: `${name}@example.org` });
    const token = await this.issuer.person(name);
    await this.make(`inviteMember/${invitation}`, undefined, token);
    const response = await this.#fetch('GET /account', token);
    const { id }: { id: string } = JSON.parse(await response.text());
    return id;
  }

  /** Invites a person. Returns the token of the link. */
  async invitationToken(): Promise<string> {
    const params = { organizationId: this.organizationId };
    const body = { email: `${randomUUID()}@example.org` };
    const { invitation_link } = await this.server.client().call('postInviteMember', { params, body });
    return invitation_link.split('#')[1] ?? '';
  }

  /** Makes a person with a password a member. Returns the id of the person. */
  async localMember(): Promise<string> {
    const body = { token: await this.invitationToken(), password: 'correct horse battery' };
    return (await this.server.client().call('acceptInvitationLink', { body })).person_id;
  }

  /** Confirms the sign-in of a program. Returns its device code. */
  async confirmedDevice(): Promise<string> {
    const { device_code, user_code } = await this.server.client().call('createDeviceSignIn', { body: { name: 'program' } });
    await this.member('confirmer').catch(() => undefined);
    const person = this.server.client(await this.issuer.person('confirmer'));
    await person.call('confirmDeviceSignIn', { body: { user_code, organization_id: this.organizationId } });
    return device_code;
  }

  /** Returns the token of a program that a person confirmed. */
  async deviceToken(): Promise<string> {
    const body = { device_code: await this.confirmedDevice() };
    return (await this.server.client().call('getDeviceToken', { body })).access_token;
  }

  async send(operation: Operation, recipe: Recipe, headers: Readonly<Record<string, string>> = {}): Promise<Sent> {
    const ids = await recipe.ids(this);
    const { database } = this.server.database;
    const token = recipe.person === undefined ? this.server.adminToken : await this.issuer.person(recipe.person);
    const { sequence } = await database.one(last);
    const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => ids[name] ?? `unset-${name}`);
    const query = recipe.query === undefined ? '' : `?${recipe.query(ids)}`;
    const response = await this.#fetch(`${operation.method} ${path}${query}`, token, recipe.body?.(ids), headers);
    const text = await response.text();
    const found = await database.many(events, [operation.id, sequence]);
    return { status: response.status, text, events: found.map(({ event }) => event) };
  }
}

export const here = (fixture: EventFixture): Ids => fixture.here;

/** Returns ids with an additional one: the id of what a POST creates. */
export function making(name: string, path: (ids: Ids) => string, body: (ids: Ids) => unknown): Recipe['ids'] {
  return async (fixture) => ({ ...fixture.here, [name]: await fixture.make(path(fixture.here), body(fixture.here)) });
}
