import { batchedStatement, creationEvent, statement } from '@davit/db';

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

/** Batched, because reads of one record are the most frequent requests. */
export const projectRead = batchedStatement<ProjectRow>(
  'project_read',
  { id: 'uuid', caller: 'uuid' },
  // `offset 0` forces one lookup per call. For a table that the planner considers small, it would otherwise read the
  // whole table.
  (asked) => `with ${asked}
    select asked.call, found.* from asked cross join lateral (
      select ${columns} from project where id = asked.id and (asked.caller is null or organization_id = asked.caller) offset 0) as found`,
);

export const projectList = statement<ProjectRow>(
  'project_list',
  `select ${columns} from project
    where organization_id = $1 and ($2::uuid is null or organization_id = $2) order by created_at, id`,
);

/** Returns no row if the caller does not see the organization, or if the name is taken. */
export const projectCreate = batchedStatement<ProjectRow>(
  'project_create',
  { id: 'uuid', organization_id: 'uuid', caller: 'uuid', name: 'text', description: 'text', request: 'text' },
  (asked) => `with ${asked}, made as (
     insert into project (id, organization_id, name, description)
     select asked.id, parent.id, asked.name, asked.description
       from asked cross join lateral (
         select id from organization
          where id = asked.organization_id and (asked.caller is null or id = asked.caller) for key share) as parent
      order by parent.id, lower(asked.name)
     on conflict (organization_id, lower(name)) do nothing
     returning *
   ), ${creationEvent({
     from: 'made join asked on asked.id = made.id',
     organizationId: 'made.organization_id',
     type: `'PROJECT'`,
     id: 'made.id',
     name: 'made.name',
     project: ['made.id', 'made.name'],
     after: 'to_jsonb(made)',
   })}
   select asked.call, made.id, made.created_at, made.updated_at, made.name, made.description, made.organization_id,
          0 as associated_environments_count
     from made join asked on asked.id = made.id`,
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
