import { creationEvent, statement } from '@davit/db';

export interface ProjectRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string;
  readonly organization_id: string;
  readonly associated_environments_count: number;
}

const columns = `id, created_at, updated_at, name, description, organization_id,
  (select count(*) from environment where environment.project_id = project.id) as associated_environments_count`;

export const projectRead = statement<ProjectRow>(
  'project_read',
  `select ${columns} from project where id = $1 and ($2::uuid is null or organization_id = $2)`,
  { together: { parameters: ['uuid', 'uuid'] } },
);

export const projectList = statement<ProjectRow>(
  'project_list',
  `select ${columns} from project
    where organization_id = $1 and ($2::uuid is null or organization_id = $2) order by created_at, id`,
);

const creation = (request: string, from: string): string =>
  creationEvent({
    request,
    from,
    organizationId: 'made.organization_id',
    type: `'PROJECT'`,
    id: 'made.id',
    name: 'made.name',
    project: ['made.id', 'made.name'],
    after: 'to_jsonb(made)',
  });
const created = `made.id, made.created_at, made.updated_at, made.name, made.description, made.organization_id,
  0 as associated_environments_count`;

/** Parameters: id, organization, organization of the caller, name, description. */
export const projectCreate = statement<ProjectRow>(
  'project_create',
  `with made as (
     insert into project (id, organization_id, name, description)
     select $1, organization.id, $4, $5 from organization
      where organization.id = $2 and ($3::uuid is null or organization.id = $3)
     returning *
   ), ${creation('$6', 'made')}
   select ${created} from made`,
  {
    takesRequest: true,
    together: `with asked as materialized (
       select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[]) with ordinality
         as call (id, organization_id, caller, name, description, request, call)
     ), made as (
       insert into project (id, organization_id, name, description)
       select asked.id, organization.id, asked.name, asked.description
         from asked join organization
           on organization.id = asked.organization_id and (asked.caller is null or organization.id = asked.caller)
        order by asked.organization_id, lower(asked.name)
       on conflict do nothing
       returning *
     ), ${creation('asked.request', 'made join asked on asked.id = made.id')}
     select asked.call, ${created} from made join asked on asked.id = made.id`,
  },
);

/** $3: the fields to change. Omitted fields stay. */
export const projectEdit = statement<ProjectRow>(
  'project_edit',
  `update project
      set name = case when $3::jsonb ? 'name' then $3->>'name' else name end,
          description = case when $3 ? 'description' then coalesce($3->>'description', '') else description end,
          updated_at = clock_timestamp()
    where id = $1 and ($2::uuid is null or organization_id = $2)
   returning ${columns}`,
);

export const projectDelete = statement(
  'project_delete',
  'delete from project where id = $1 and ($2::uuid is null or organization_id = $2)',
);

export const environmentNames = statement<{ name: string }>(
  'project_environment_names',
  'select name from environment where project_id = $1 order by created_at, id',
);
