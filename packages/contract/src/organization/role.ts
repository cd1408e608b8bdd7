import Type from 'typebox';
import { operation } from '../operation.ts';
import { List, Name, Nullable, Text, Uuid, Words, Named } from '../shape.ts';
import { clusterPermissions, environmentModes, projectPermissions } from '../shared/words.ts';

const tag = 'Role';
const at = '/organization/{organizationId}/customRole';

const modePermissions = Type.Array(
  Type.Object({ environment_type: Words(environmentModes), permission: Words(projectPermissions) }),
  { maxItems: environmentModes.length },
);

const CustomRole = Named(
  'CustomRole',
  Type.Object({
    id: Uuid,
    name: Type.String(),
    description: Type.String(),
    cluster_permissions: Type.Array(
      Named(
        'CustomRoleClusterPermission',
        Type.Object({ cluster_id: Uuid, cluster_name: Type.String(), permission: Words(clusterPermissions) }),
      ),
    ),
    project_permissions: Type.Array(
      Named(
        'CustomRoleProjectPermission',
        Type.Object({ project_id: Uuid, project_name: Type.String(), is_admin: Type.Boolean(), permissions: modePermissions }),
      ),
    ),
  }),
);

export const listOrganizationAvailableRoles = operation({
  id: 'listOrganizationAvailableRoles',
  method: 'GET',
  path: '/organization/{organizationId}/availableRole',
  tag,
  summary: 'List the roles that members and API tokens may have: the built-in ones, then the organization’s own',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(Named('AvailableRole', Type.Object({ id: Uuid, name: Type.String() }))),
  errors: [],
});

export const listOrganizationCustomRoles = operation({
  id: 'listOrganizationCustomRoles',
  method: 'GET',
  path: at,
  tag,
  summary: 'List the custom roles of an organization, each with its permissions on every cluster and in every project',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(CustomRole),
  errors: [],
});

export const createOrganizationCustomRole = operation({
  id: 'createOrganizationCustomRole',
  method: 'POST',
  path: at,
  tag,
  summary: 'Create a custom role; it sees clusters and no project until it is edited',
  scope: 'ADMIN',
  target: 'organization',
  body: Named('CustomRoleRequest', Type.Object({ name: Name, description: Type.Optional(Nullable(Text)) })),
  status: 201,
  response: CustomRole,
  errors: [400, 409],
});

export const getOrganizationCustomRole = operation({
  id: 'getOrganizationCustomRole',
  method: 'GET',
  path: `${at}/{customRoleId}`,
  tag,
  summary: 'Read a custom role',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: CustomRole,
  errors: [],
});

export const editOrganizationCustomRole = operation({
  id: 'editOrganizationCustomRole',
  method: 'PUT',
  path: `${at}/{customRoleId}`,
  tag,
  summary: 'Edit a custom role; both lists replace the former ones, and the role has the least permission on what they omit',
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'CustomRoleEditRequest',
    Type.Object({
      name: Name,
      description: Type.Optional(Nullable(Text)),
      cluster_permissions: Type.Array(
        Named(
          'CustomRoleClusterPermissionRequest',
          Type.Object({ cluster_id: Uuid, permission: Type.Optional(Words(clusterPermissions, { default: 'VIEWER' })) }),
        ),
        { maxItems: 10_000 },
      ),
      project_permissions: Type.Array(
        Named(
          'CustomRoleProjectPermissionRequest',
          Type.Object({
            project_id: Uuid,
            is_admin: Type.Optional(Type.Boolean({ default: false })),
            permissions: Type.Optional(modePermissions),
          }),
        ),
        { maxItems: 10_000 },
      ),
    }),
  ),
  status: 200,
  response: CustomRole,
  errors: [400, 409],
});

export const deleteOrganizationCustomRole = operation({
  id: 'deleteOrganizationCustomRole',
  method: 'DELETE',
  path: `${at}/{customRoleId}`,
  tag,
  summary: 'Delete a custom role that no member, invitation or API token has',
  scope: 'ADMIN',
  target: 'organization',
  status: 204,
  response: null,
  errors: [409],
});
