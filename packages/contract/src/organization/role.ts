import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, List, Name, Named, Nullable, Text, Uuid, Words } from '../shape.ts';
import { clusterPermissions, environmentModes, projectPermissions } from '../shared/words.ts';

const tag = 'Role';
const at = '/organization/{organizationId}/customRole';

const modePermissions = Type.Array(
  Type.Object({
    environment_type: Words(environmentModes),
    permission: Words(projectPermissions),
  }),
  { maxItems: environmentModes.length },
);

const CustomRole = Named(
  'CustomRole',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    name: about('The name of the role.', Type.String()),
    description: about('What it is for; may be empty.', Type.String()),
    cluster_permissions: about(
      'The right on each cluster.',
      Type.Array(
        Named(
          'CustomRoleClusterPermission',
          Type.Object({
            cluster_id: about('The `id` of the cluster.', Uuid),
            cluster_name: about('The name of the cluster.', Type.String()),
            permission: Words(clusterPermissions),
          }),
          'The right on one cluster.',
        ),
      ),
    ),
    project_permissions: about(
      'The rights in each project.',
      Type.Array(
        Named(
          'CustomRoleProjectPermission',
          Type.Object({
            project_id: about('The `id` of the project.', Uuid),
            project_name: about('The name of the project.', Type.String()),
            is_admin: about('Whether it may do everything in the project.', Type.Boolean()),
            permissions: about('The right in environments of each mode.', modePermissions),
          }),
          'The rights in one project.',
        ),
      ),
    ),
  }),
  `A role of the organization's own.`,
);

export const listOrganizationAvailableRoles = operation({
  id: 'listOrganizationAvailableRoles',
  method: 'GET',
  path: '/organization/{organizationId}/availableRole',
  tag,
  summary: 'List the roles that can be given',
  description: `
    Returns the built-in roles (Owner, Admin, DevOps, Billing manager, Viewer), then the custom roles of the
    organization, oldest first. 
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'AvailableRole',
      Type.Object({ id: about('The `id` of the role.', Uuid), name: about('The name of the role.', Type.String()) }),
      'A role that members and API tokens may have.',
    ),
  ),
  errors: [],
});

export const listOrganizationCustomRoles = operation({
  id: 'listOrganizationCustomRoles',
  method: 'GET',
  path: at,
  tag,
  summary: 'List the custom roles of an organization',
  description: `
    Returns the custom roles, oldest first, each with its rights on every cluster and in every project of the organization.
    The built-in roles are not among them.
  `,
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
  summary: 'Create a custom role',
  description: `
    Creates a role that can read all clusters and no project. Edit it to give it rights, then give it to members or API
    tokens.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A custom role has the name; case does not matter. | Choose another name. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'CustomRoleRequest',
    Type.Object({
      name: about('Its name, unique in the organization without regard to case.', Name),
      description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
    }),
    'A custom role to create.',
  ),
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
  description: `
    Returns the role with its rights on every cluster and in every project of the organization. For new ones: VIEWER and
    NO_ACCESS.
  `,
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
  summary: 'Edit a custom role',
  description: `
    Replaces the name and the rights of the role; a description that you leave out stays. Clusters that you leave out get
    VIEWER, projects and modes NO_ACCESS. The rights apply from the next request on.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A custom role has the name; case does not matter. | Choose another name. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'CustomRoleEditRequest',
    Type.Object({
      name: about('Its name, unique in the organization without regard to case.', Name),
      description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
      cluster_permissions: about(
        'The clusters with their rights; VIEWER on all others.',
        Type.Array(
          Named(
            'CustomRoleClusterPermissionRequest',
            Type.Object({
              cluster_id: about('The `id` of the cluster.', Uuid),
              permission: Type.Optional(Words(clusterPermissions, { default: 'VIEWER' })),
            }),
            'The right on one cluster.',
          ),
          { maxItems: 10_000 },
        ),
      ),
      project_permissions: about(
        'The projects with their rights; none in all others.',
        Type.Array(
          Named(
            'CustomRoleProjectPermissionRequest',
            Type.Object({
              project_id: about('The `id` of the project.', Uuid),
              is_admin: Type.Optional(about('Whether it may do everything in the project.', Type.Boolean({ default: false }))),
              permissions: Type.Optional(
                about('The right in environments of each mode; NO_ACCESS for the others.', modePermissions),
              ),
            }),
            'The rights in one project.',
          ),
          { maxItems: 10_000 },
        ),
      ),
    }),
    'The new rights of a custom role.',
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
  summary: 'Delete a custom role',
  description: `
    Deletes a role that no member, invitation or API token has. This cannot be undone.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | Somebody has the role; the message says who. | Give them another role. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  status: 204,
  response: null,
  errors: [409],
});
