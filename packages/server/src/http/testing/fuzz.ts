import { createFakeCluster } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import type { ApiParts } from '@davit/server';
import * as fc from 'fast-check';
import { recipes } from '../../resources/event/testing/recipes.ts';
import { EventFixture, type Ids, type Recipe } from '../../resources/event/testing/fixture.ts';
import { anyJson, broken, nastyText, valid } from './arbitrary.ts';
import {
  base,
  faultsOf,
  routes,
  routesInWords,
  type Content,
  type FuzzRequest,
  type Parameter,
  type Route,
} from './documented.ts';

/** A generated body, as it is sent. */
interface Drawn {
  readonly text?: string;
  readonly type?: string;
}

/** Milliseconds until a request times out. */
const longestMilliseconds = 5000;
/** Number of requests after which deleted things are created again. */
const requestsOfOnePool = 400;
/** Number of requests after which a new server is started: otherwise lists grow until they take all the time. */
const requestsOfOneServer = 4000;

function openFixture(): Promise<EventFixture> {
  // The engine is never started: deployments stay queued, and the cluster only serves reads of repositories.
  const engine = (parts: ApiParts): Engine => createEngine({ ...parts, drivers: { docker: createFakeCluster() } });
  return EventFixture.open({ engine, environment: { DAVIT_VOCABULARY: `${base}=public` } });
}

/** Sends requests that the OpenAPI document allows and requests that it does not, and checks the responses. */
export class Fuzz {
  #fixture: EventFixture;
  /** Sets of ids that belong together: each has the ids of one call. */
  #idSets: readonly Ids[] = [];
  /** Generators of valid bodies, by operation. */
  #bodies: ReadonlyMap<string, () => unknown> = new Map();
  #pool: Map<string, string[]> = new Map();
  #tokens: readonly string[] = [];
  #sent = 0;
  readonly statuses = new Map<number, number>();

  private constructor(fixture: EventFixture) {
    this.#fixture = fixture;
  }

  static async open(): Promise<Fuzz> {
    const fuzz = new Fuzz(await openFixture());
    await fuzz.#begin();
    return fuzz;
  }

  /** Creates the callers and the things. */
  async #begin(): Promise<void> {
    const { server, issuer, organizationId } = this.#fixture;
    const stranger = await server.organization('stranger');
    const own: string[] = [];
    for (const scope of ['READ', 'DEPLOY', 'WRITE', 'ADMIN'] as const) {
      const body = { name: scope, scope };
      own.push((await server.client().call('createOrganizationApiToken', { params: { organizationId }, body })).token);
    }
    // Most callers are administrators, so that most requests get as far as possible.
    const admin = server.adminToken;
    this.#tokens = [...Array.from({ length: 16 }, () => admin), ...own, stranger.tokens.ADMIN, await issuer.person('fuzzer')];
    await this.#refill();
  }

  async close(): Promise<void> {
    await this.#fixture.close();
  }

  get sent(): number {
    return this.#sent;
  }

  /** Creates things of every kind again, since earlier ones may have been deleted. */
  async #refill(): Promise<void> {
    this.#fixture.here = await this.#fixture.fresh();
    const idSets: Ids[] = [this.#fixture.here];
    const bodies = new Map<string, () => unknown>();
    for (const [id, recipe] of Object.entries<Recipe>(recipes).filter(([, { person }]) => person === undefined)) {
      const fixture = { ...this.#fixture.here, ...(await recipe.ids(this.#fixture)) };
      const { body } = recipe;
      idSets.push(fixture);
      if (body !== undefined) bodies.set(id, () => body(fixture));
    }
    this.#bodies = bodies;
    const pool = new Map<string, string[]>();
    for (const [name, id] of idSets.flatMap((fixture) => Object.entries(fixture)))
      pool.set(name, [...(pool.get(name) ?? []), id]);
    this.#idSets = idSets;
    this.#pool = pool;
  }

  /**
   * Generates a request of any operation, a quarter of them in a client's words. Its ids are chosen when it is sent,
   * because they change while the property runs.
   */
  request(): fc.Arbitrary<FuzzRequest> {
    return fc
      .oneof({ weight: 3, arbitrary: fc.constantFrom(...routes) }, { weight: 1, arbitrary: fc.constantFrom(...routesInWords) })
      .chain((route) => this.#requestOf(route));
  }

  #id(name?: string): fc.Arbitrary<string> {
    return fc.nat(1_000_000).map((number) => {
      const ids = (name === undefined ? [...this.#pool.values()].flat() : this.#pool.get(name)) ?? [];
      return ids[number % Math.max(1, ids.length)] ?? '0b9d2bfc-4b4e-4b8f-9d6b-0d8b3f1c2a11';
    });
  }

  #requestOf({ id, base: at, path: template, method, operation }: Route): fc.Arbitrary<FuzzRequest> {
    const names = (location: Parameter['in']): readonly Parameter[] => operation.parameters.filter((one) => one.in === location);
    const parameters = names('path').map(({ name }) => name);
    const pathValues = fc
      .tuple(this.#idsThatFit(parameters), ...parameters.map((name) => this.#pathValue(id, name)))
      .map(([fixture, ...drawn]) => drawn.map((value, index) => value ?? fixture[parameters[index] ?? ''] ?? 'x'));
    const query = fc.tuple(...names('query').map((one) => this.#queryValue(one)));
    const nothing: fc.Arbitrary<Drawn> = fc.constant({});
    const body = operation.requestBody === undefined ? nothing : this.#body(id, operation.requestBody.content);
    return fc.record({ pathValues, query, body, headers: this.#headers() }).map((drawn) => {
      let index = 0;
      const location = template.replaceAll(/\{[^}]+\}/g, () => encode(drawn.pathValues[index++] ?? ''));
      const search = new URLSearchParams();
      for (const [name, value] of drawn.query.flat()) search.append(name, wellFormed(value));
      const { text, type } = drawn.body;
      return {
        operation: id,
        base: at,
        method: method.toUpperCase(),
        url: `${at}${location}${search.size === 0 ? '' : `?${search.toString()}`}`,
        headers: { ...(type === undefined ? {} : { 'content-type': type }), ...drawn.headers },
        ...(text === undefined ? {} : { body: text }),
      };
    });
  }

  /** Chooses ids for all of these parameters that belong together, if there are such. */
  #idsThatFit(names: readonly string[]): fc.Arbitrary<Ids> {
    return fc.nat(1_000_000).map((number) => {
      const fitting = this.#idSets.filter((fixture) => names.every((name) => fixture[name] !== undefined));
      return fitting[number % Math.max(1, fitting.length)] ?? {};
    });
  }

  /** Generates a path parameter; undefined: use the id that belongs to the others. */
  #pathValue(operation: string, name: string): fc.Arbitrary<string | undefined> {
    // Deleting the organization would delete all things to which requests are sent.
    const known = operation === 'deleteOrganization' ? fc.uuid() : fc.constant(undefined);
    return fc.oneof(
      { weight: 40, arbitrary: name.endsWith('Id') ? known : fc.constantFrom('eu-west-3', 'fr-par-1', 'POSTGRESQL', 'x') },
      { weight: 2, arbitrary: this.#id(name) },
      { weight: 1, arbitrary: fc.uuid() },
      { weight: 1, arbitrary: nastyText.filter((text) => !['', '.', '..'].includes(text)) },
    );
  }

  #queryValue({ name, schema, required }: Parameter): fc.Arbitrary<readonly (readonly [string, string])[]> {
    const good = valid(schema, this.#id()).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
    return fc.oneof(
      { weight: required ? 8 : 2, arbitrary: good.map((text) => [[name, text] as const]) },
      { weight: required ? 1 : 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: nastyText.map((text) => [[name, text] as const]) },
      { weight: 1, arbitrary: fc.tuple(good, good).map(([a, b]) => [[name, a] as const, [name, b] as const]) },
    );
  }

  #body(id: string, content: Content): fc.Arbitrary<Drawn> {
    const [type = 'application/json', { schema } = { schema: {} }] = Object.entries(content)[0] ?? [];
    const isJson = type === 'application/json';
    const good = valid(schema, this.#id());
    const json = (value: unknown): { text: string; type: string } => ({ text: JSON.stringify(value), type: 'application/json' });
    const known = fc.constant(id).map((name) => this.#bodies.get(name)?.() ?? {});
    return fc.oneof(
      { weight: 6, arbitrary: known.map(json) },
      { weight: 4, arbitrary: broken(known).map(json) },
      { weight: 6, arbitrary: isJson ? good.map(json) : good.map((value) => ({ text: String(value), type })) },
      { weight: 4, arbitrary: broken(good).map(json) },
      { weight: 1, arbitrary: anyJson.map(json) },
      { weight: 1, arbitrary: fc.string().map((text) => ({ text, type: 'application/json' })) },
      {
        weight: 1,
        arbitrary: fc.tuple(good, fc.constantFrom(...otherTypes)).map(([value, other]) => ({ ...json(value), type: other })),
      },
      { weight: 1, arbitrary: fc.constant({}) },
    );
  }

  #headers(): fc.Arbitrary<Readonly<Record<string, string>>> {
    const token = fc.constantFrom(...this.#tokens).chain((text) => fc.constantFrom(`Token ${text}`, `Bearer ${text}`));
    const authorization = fc.oneof(
      { weight: 30, arbitrary: token.map((text) => ({ authorization: text })) },
      { weight: 1, arbitrary: fc.constantFrom(...brokenTokens).map((text) => ({ authorization: text })) },
      { weight: 1, arbitrary: fc.constant({}) },
    );
    const extra = fc.oneof(
      { weight: 8, arbitrary: fc.constant({}) },
      {
        weight: 1,
        arbitrary: fc.constantFrom('*', '"old"', 'W/"a"', '"a", "b"', '', ',', '"').map((text) => ({ 'if-match': text })),
      },
      {
        weight: 1,
        arbitrary: fc
          .constantFrom('a', 'key', 'k'.repeat(255), 'k'.repeat(256), '', ' ')
          .map((text) => ({ 'idempotency-key': text })),
      },
      { weight: 1, arbitrary: fc.constantFrom('text/html', '*/*', '').map((accept) => ({ accept })) },
      { weight: 1, arbitrary: fc.constantFrom('CLI 1', 'Terraform provider 1', '').map((agent) => ({ 'user-agent': agent })) },
    );
    return fc.tuple(authorization, extra).map(([one, other]): Record<string, string> => ({ ...one, ...other }));
  }

  /** Sends a request; returns the faults of its response, one per line. */
  async faults(request: FuzzRequest): Promise<string[]> {
    this.#sent += 1;
    if (this.#sent % requestsOfOneServer === 0) {
      await this.#fixture.close();
      this.#fixture = await openFixture();
      await this.#begin();
    } else if (this.#sent % requestsOfOnePool === 0) await this.#refill();
    // A timeout is retried once: a busy machine may have been suspended, but a hanging request hangs again.
    const answer = (await this.#send(request)) ?? (await this.#send(request));
    if (answer === null) return [`${request.operation}: no answer within ${longestMilliseconds} ms, twice`];
    const { response, text } = answer;
    this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1);
    this.#remember(request, response.status, text);
    return faultsOf(request, response, text);
  }

  /** Returns null on a timeout. */
  async #send({ method, url, headers, body }: FuzzRequest): Promise<{ response: Response; text: string } | null> {
    const signal = AbortSignal.timeout(longestMilliseconds);
    const sent = body === undefined || method === 'GET' ? {} : { body };
    try {
      const response = await fetch(`${this.#fixture.server.baseUrl}${url}`, { method, headers, signal, ...sent });
      // A stream does not end; its events have tests of their own.
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      if (isStream) await response.body?.cancel();
      return { response, text: isStream ? '' : await response.text() };
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  }

  /** Adds a created thing to the ids that later requests can name. */
  #remember({ url, method }: FuzzRequest, status: number, text: string): void {
    if (method !== 'POST' || status !== 201 || !text.startsWith('{')) return;
    const { id }: { id?: unknown } = JSON.parse(text);
    const segment = url.split('?')[0]?.split('/').at(-1);
    if (typeof id === 'string') this.#pool.set(`${segment}Id`, [...(this.#pool.get(`${segment}Id`) ?? []).slice(-20), id]);
  }
}

const otherTypes = ['text/plain', 'application/xml', 'application/json; charset=latin1', 'multipart/form-data', ''] as const;
const brokenTokens = [
  '',
  'Token',
  'Token ',
  'Bearer a.b.c',
  'Token dvt_x',
  'Basic YTpi',
  'Bearer eyJhbGciOiJub25lIn0.e30.',
  'x'.repeat(5000),
] as const;

function encode(value: string): string {
  return encodeURIComponent(wellFormed(value));
}

function wellFormed(text: string): string {
  return text.toWellFormed();
}

export interface FuzzRun {
  /** Seed of the random generator, so that a run can be repeated. */
  readonly seed: number;
  readonly requests: number;
  /** Seconds after which no further request is sent. */
  readonly seconds: number;
}

/**
 * Sends `requests` requests. Throws at the first faulty response, with the shortest request that reproduces the fault.
 */
export async function fuzz({ seed, requests, seconds }: FuzzRun): Promise<Fuzz> {
  const run = await Fuzz.open();
  try {
    const property = fc.asyncProperty(run.request(), async (request) => {
      const faults = await run.faults(request);
      if (faults.length > 0) throw new Error(faults.join('\n'));
    });
    await fc.assert(property, { seed, numRuns: requests, interruptAfterTimeLimit: seconds * 1000 });
  } finally {
    await run.close();
  }
  return run;
}
