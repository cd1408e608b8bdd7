import Fastify, { type FastifyInstance } from 'fastify';
import { Pool, types as pgTypes } from 'pg';

/*
 * The floor of reads and creates: plain Fastify, and pg with one statement that is prepared once per connection. It has
 * no tokens, permissions, limits or metrics. Responses have the same fields as Davit's, written by a compiled
 * serializer as in Davit.
 *
 * Usage: node bench/floors/records.ts <address of the database> <connections>
 */

const [database, connections = '32'] = process.argv.slice(2);
const pool = new Pool({
  connectionString: database,
  max: Number(connections),
  // Disabled, as otherwise each query sets and clears a timer.
  idleTimeoutMillis: 0,
  // Timestamps are sent as PostgreSQL wrote them: a Date in between would cost two conversions.
  types: {
    getTypeParser: (oid, format) =>
      oid === pgTypes.builtins.TIMESTAMPTZ ? (text: string) => text : pgTypes.getTypeParser(oid, format),
  },
});

const text = { type: 'string' } as const;
const reference = { type: 'object', properties: { id: text } } as const;
const project = {
  type: 'object',
  properties: {
    id: text,
    created_at: text,
    updated_at: text,
    name: text,
    description: text,
    associated_environments_count: { type: 'integer' },
    organization: reference,
  },
} as const;
const application = {
  type: 'object',
  properties: { id: text, created_at: text, updated_at: text, environment: reference, name: text, service_type: text },
  additionalProperties: true,
} as const;
const named = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', minLength: 1, maxLength: 255 } },
} as const;

function addProject(app: FastifyInstance): void {
  app.get<{ Params: { id: string } }>('/project/:id', { schema: { response: { 200: project } } }, async ({ params }) => {
    const { rows } = await pool.query({
      name: 'read_project',
      text: 'select id, created_at, updated_at, name, description, organization_id from floor.project where id = $1',
      values: [params.id],
    });
    const { organization_id: organizationId, ...row } = rows[0];
    return { ...row, associated_environments_count: 0, organization: { id: organizationId } };
  });
  app.post<{ Params: { id: string }; Body: { name: string; description?: string } }>(
    '/organization/:id/project',
    { schema: { body: named, response: { 200: project } } },
    async ({ params, body }) => {
      const { rows } = await pool.query({
        name: 'create_project',
        text: `insert into floor.project (id, organization_id, name, description) values (gen_random_uuid(), $1, $2, $3)
               returning id, created_at, updated_at, name, description`,
        values: [params.id, body.name, body.description ?? ''],
      });
      return { ...rows[0], associated_environments_count: 0, organization: { id: params.id } };
    },
  );
}

function addApplication(app: FastifyInstance): void {
  app.get<{ Params: { id: string } }>('/application/:id', { schema: { response: { 200: application } } }, async ({ params }) => {
    const { rows } = await pool.query({
      name: 'read_application',
      text: 'select id, created_at, updated_at, environment_id, name, type, spec from floor.service where id = $1',
      values: [params.id],
    });
    const { environment_id: environmentId, type, spec, ...row } = rows[0];
    return { ...row, service_type: type, environment: { id: environmentId }, ...spec };
  });
  app.post<{ Params: { id: string }; Body: { name: string } }>(
    '/environment/:id/application',
    { schema: { body: named, response: { 201: application } } },
    async ({ params, body }, reply) => {
      const { rows } = await pool.query({
        name: 'create_application',
        text: `insert into floor.service
                 (id, organization_id, project_id, environment_id, stage_id, stage_entry_id, type, name, spec, driver)
               values (gen_random_uuid(), $1, $1, $1, $1, gen_random_uuid(), 'APPLICATION', $2, $3, 'docker')
               returning id, created_at, updated_at`,
        values: [params.id, body.name, JSON.stringify(body)],
      });
      void reply.code(201);
      return { ...rows[0], ...body, service_type: 'APPLICATION', environment: { id: params.id } };
    },
  );
}

const app = Fastify({ logger: false });
addProject(app);
addApplication(app);
const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.once('disconnect', () => process.exit(0));
process.send?.(Number(new URL(url).port));
