import type { ClusterPermission, EnvironmentMode, ProjectPermission } from '@davit/contract';
import { statement } from '@davit/db';

export interface CustomRoleRow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly cluster_permissions: { cluster_id: string; cluster_name: string; permission: ClusterPermission }[];
  readonly project_permissions: {
    readonly project_id: string;
    readonly project_name: string;
    readonly is_admin: boolean;
    readonly permissions: Partial<Record<EnvironmentMode, ProjectPermission>>;
  }[];
}

// The columns list every cluster and project of the organization, even those that the role does not mention.
const columns = `custom_role.id, custom_role.name, custom_role.description,
  coalesce((select jsonb_agg(jsonb_build_object('cluster_id', cluster.id, 'cluster_name', cluster.name,
       'permission', coalesce(given.permission, 'VIEWER')) order by cluster.created_at, cluster.id)
     from cluster left join custom_role_cluster as given
       on given.cluster_id = cluster.id and given.custom_role_id = custom_role.id
    where cluster.organization_id = custom_role.organization_id), '[]') as cluster_permissions,
  coalesce((select jsonb_agg(jsonb_build_object('project_id', project.id, 'project_name', project.name,
       'is_admin', coalesce(given.is_admin, false), 'permissions', coalesce(given.permissions, '{}'))
       order by project.created_at, project.id)
     from project left join custom_role_project as given
       on given.project_id = project.id and given.custom_role_id = custom_role.id
    where project.organization_id = custom_role.organization_id), '[]') as project_permissions`;
const visible = 'custom_role.organization_id = $1 and ($2::uuid is null or custom_role.organization_id = $2)';

export const roleList = statement<CustomRoleRow>(
  'role_list',
  `select ${columns} from custom_role where ${visible} order by custom_role.created_at, custom_role.id`,
);

export const roleRead = statement<CustomRoleRow>(
  'role_read',
  `select ${columns} from custom_role where ${visible} and custom_role.id = $3`,
);

export const roleNames = statement<{ id: string; name: string }>(
  'role_names',
  'select id, name from custom_role where organization_id = $1 order by created_at, id',
);

/** Locks the role against deletion until the transaction ends. */
export const roleName = statement<{ id: string; name: string }>(
  'role_name',
  'select id, name from custom_role where organization_id = $1 and id = $2 for key share',
);

export const roleCreate = statement<{ id: string }>(
  'role_create',
  `insert into custom_role (id, organization_id, name, description)
   select $3, organization.id, $4, $5 from organization
    where organization.id = $1 and ($2::uuid is null or organization.id = $2)
   returning id`,
);

/** $5: the description; null keeps the former one. Locks the row, so that concurrent edits run one after the other. */
export const roleEdit = statement(
  'role_edit',
  `update custom_role set name = $4, description = coalesce($5, description), updated_at = clock_timestamp()
    where ${visible} and id = $3`,
);

/** $2: the clusters that stay. Only the others are deleted, so that the audit log contains only real changes. */
export const roleClustersClear = statement(
  'role_clusters_clear',
  'delete from custom_role_cluster where custom_role_id = $1 and cluster_id <> all ($2::uuid[])',
);
/** $2: the projects that stay. */
export const roleProjectsClear = statement(
  'role_projects_clear',
  'delete from custom_role_project where custom_role_id = $1 and project_id <> all ($2::uuid[])',
);

/** $3: a list of {cluster_id, permission}. Returns the ids that are clusters of the organization. */
export const roleClustersSet = statement<{ id: string }>(
  'role_clusters_set',
  `insert into custom_role_cluster (custom_role_id, cluster_id, permission)
   select $1, cluster.id, given->>'permission' from jsonb_array_elements($3::jsonb) as given
     join cluster on cluster.id = (given->>'cluster_id')::uuid and cluster.organization_id = $2
      for key share of cluster
   on conflict (custom_role_id, cluster_id) do update set permission = excluded.permission
   returning cluster_id as id`,
);

/** $3: a list of {project_id, is_admin, permissions}. Returns the ids that are projects of the organization. */
export const roleProjectsSet = statement<{ id: string }>(
  'role_projects_set',
  `insert into custom_role_project (custom_role_id, project_id, is_admin, permissions)
   select $1, project.id, (given->>'is_admin')::boolean, given->'permissions' from jsonb_array_elements($3::jsonb) as given
     join project on project.id = (given->>'project_id')::uuid and project.organization_id = $2
      for key share of project
   on conflict (custom_role_id, project_id) do update set is_admin = excluded.is_admin, permissions = excluded.permissions
   returning project_id as id`,
);

export const roleDelete = statement('role_delete', `delete from custom_role where ${visible} and id = $3`);

export const roleUsers = statement<{ name: string }>(
  'role_users',
  `select coalesce(person.name, person.email, person.subject) as name from membership
     join person on person.id = membership.person_id where custom_role_id = $1
   union all select email from invitation where custom_role_id = $1
   union all select name from api_token where custom_role_id = $1`,
);
