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
);

export const projectList = statement<ProjectRow>(
  'project_list',
  `select ${columns} from project
    where organization_id = $1 and ($2::uuid is null or organization_id = $2) order by created_at, id`,
);

export const projectCreate = statement<ProjectRow>(
  'project_create',
  `with made as (
     insert into project (id, organization_id, name, description)
     select $1, organization.id, $4, $5 from organization
      where organization.id = $2 and ($3::uuid is null or organization.id = $3)
     returning *
   ), ${creationEvent({
     request: '$6',
     from: 'made',
     organizationId: 'organization_id',
     type: `'PROJECT'`,
     id: 'id',
     name: 'name',
     project: ['id', 'name'],
     after: 'to_jsonb(made)',
   })}
   select id, created_at, updated_at, name, description, organization_id, 0 as associated_environments_count from made`,
  { takesRequest: true },
);

/** $3: the fields to change; those that are not in it stay. */
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
