import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/* Creates that come at the same moment go in one statement; nobody must be able to tell. */

let server: TestServer;
let owner: TestOrganization;
let projectId: string;
let environmentIds: readonly string[];

beforeAll(async () => {
  server = await startTestServer();
  owner = await server.organization('owner');
  const client = server.client(owner.tokens.ADMIN);
  projectId = (await client.call('createProject', { params: { organizationId: owner.id }, body: { name: 'shop' } })).id;
  const names = ['live', 'test', 'going'];
  environmentIds = await Promise.all(
    names.map(async (name) => (await client.call('createEnvironment', { params: { projectId }, body: { name } })).id),
  );
});
afterAll(() => server.close());

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function post(path: string, body: unknown, token: string = owner.tokens.ADMIN): Promise<Answer> {
  const headers = { authorization: `Token ${token}`, 'content-type': 'application/json', 'user-agent': 'test' };
  const response = await fetch(`${server.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Answer['body'] }; // oxlint-disable-line typescript/no-unsafe-type-assertion -- every answer is a record
}

const source = { dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/shop/web.git' } };

interface Case {
  readonly what: string;
  readonly status: number;
  readonly create: (name: string) => Promise<Answer>;
  readonly table: 'project' | 'service';
}
const cases: readonly Case[] = [
  {
    what: 'projects',
    status: 200,
    create: (name) => post(`/organization/${owner.id}/project`, { name, description: 'd' }),
    table: 'project',
  },
  {
    what: 'applications',
    status: 201,
    create: (name) =>
      post(`/environment/${environmentIds[0]}/application`, {
        name,
        ...source,
        ports: [{ internal_port: 80, publicly_accessible: false, protocol: 'HTTP' }],
      }),
    table: 'service',
  },
];

const event = statement<{ event: Record<string, unknown> }>(
  'test_creates_event',
  `select to_jsonb(audit_event) as event from audit_event where target_id = $1`,
);
const rows = {
  project: statement<{ row: Record<string, unknown> }>(
    'test_creates_project',
    'select to_jsonb(project) as row from project where id = $1',
  ),
  service: statement<{ row: Record<string, unknown> }>(
    'test_creates_service',
    'select to_jsonb(service) as row from service where id = $1',
  ),
};

/** Replaces values that differ from record to record by the name of their sort. */
function alike(value: unknown, known: ReadonlyMap<unknown, string>): unknown {
  const text = JSON.stringify(value, (_key, one: unknown) => known.get(one) ?? one);
  return JSON.parse(
    text
      .replaceAll(/\d{4}-\d\d-\d\dT[^"]+/g, 'TIME')
      .replaceAll(/"(id|stage_entry_id)":"[0-9a-f-]{36}"/g, '"$1":"UUID"')
      .replaceAll(/"sequence":\d+/g, '"sequence":0'),
  );
}

describe.each(cases)('$what', ({ create, table, status }) => {
  const everything = async ({ body }: Answer): Promise<unknown> => {
    const known = new Map<unknown, string>([
      [body['name'], 'NAME'],
      [body['id'], 'ID'],
    ]);
    const row = await server.database.database.one(rows[table], [body['id']]);
    return alike({ body, row, events: await server.database.database.many(event, [body['id']]) }, known);
  };

  test('are written and answered alike, one by one and many at once', async () => {
    const alone = await create(`alone ${randomUUID()}`);
    expect(alone.status).toBe(status);
    const expected = await everything(alone);
    const answers = await Promise.all(Array.from({ length: 60 }, () => create(`together ${randomUUID()}`)));
    for (const answer of answers) {
      expect(answer.status).toBe(status);
      expect(await everything(answer)).toEqual(expected);
    }
    expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(60);
  });

  test('of fifty with one name are one, whatever else comes at the same moment', async () => {
    const same = Array.from({ length: 50 }, (_, index) => create(index % 2 === 0 ? 'one Name' : 'ONE name'));
    const others = Array.from({ length: 20 }, () => create(`other ${randomUUID()}`));
    const statuses = (await Promise.all(same)).map((answer) => answer.status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([status, ...Array<number>(49).fill(409)]);
    expect((await Promise.all(others)).map((answer) => answer.status)).toEqual(Array<number>(20).fill(status));
  });
});

test('strangers, bad bodies and environments that go away fail alone', async () => {
  const stranger = await server.organization('stranger');
  const [live = '', , going = ''] = environmentIds;
  const at = (environment: string, token?: string): Promise<Answer> =>
    post(`/environment/${environment}/application`, { name: `n ${randomUUID()}`, ...source }, token);
  const removal = fetch(`${server.baseUrl}/environment/${going}`, {
    method: 'DELETE',
    headers: { authorization: `Token ${owner.tokens.ADMIN}` },
  });
  const kinds = Array.from({ length: 20 }, () => [
    at(live),
    at(live, stranger.tokens.ADMIN),
    at(randomUUID()),
    at(going),
    post(`/environment/${live}/application`, { name: '' }),
  ]).flat();
  const answers = await Promise.all(kinds);
  expect((await removal).status).toBe(204);
  const of = (kind: number): number[] => [
    ...new Set(answers.filter((_, index) => index % 5 === kind).map(({ status }) => status)),
  ];
  expect(of(0)).toEqual([201]);
  expect(of(1)).toEqual([404]);
  expect(of(2)).toEqual([404]);
  expect(of(3).filter((status) => ![201, 404, 409].includes(status))).toEqual([]);
  expect(of(4)).toEqual([400]);
});
