import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Uuid } from '../shape.ts';
import { GroupItem } from './item.ts';

const tag = 'Label group';
const path = '/organization/{organizationId}/labelsGroups';
const onePath = `${path}/{labelsGroupId}` as const;

const groupFields = {
  id: about('Identifies it; it never changes.', Uuid),
  created_at: about('When it was created.', DateTime),
  updated_at: Type.Optional(about('When it was last changed.', DateTime)),
  name: about('The name of the group.', Type.String()),
  labels: about(
    'The labels of the group.',
    Type.Array(
      Named(
        'Label',
        Type.Object({
          key: about('The key of the label.', Type.String()),
          value: about('The value of the label.', Type.String()),
          propagate_to_cloud_provider: about(
            'Whether resources of the cloud vendor should get it, too; stored only.',
            Type.Boolean(),
          ),
        }),
        'A label that a group has.',
      ),
    ),
  ),
};
export const LabelsGroup = Named(
  'LabelsGroup',
  Type.Object(groupFields),
  'Labels that services share, for their Kubernetes objects.',
);

const LabelsGroupRequest = Named(
  'LabelsGroupRequest',
  Type.Object({
    name: about('Its name, unique in the organization without regard to case.', Name),
    labels: about(
      'The labels; the list replaces the former one.',
      Type.Array(
        Named(
          'LabelRequest',
          Type.Object({
            key: about(
              'The key, as Kubernetes allows it, such as `example.com/team`.',
              Type.String({ minLength: 1, maxLength: 317 }),
            ),
            value: about('The value of the label.', Type.String({ maxLength: 63 })),
            propagate_to_cloud_provider: about(
              'Whether resources of the cloud vendor should get it, too; stored only.',
              Type.Boolean(),
            ),
          }),
          'A label for a group.',
        ),
        { maxItems: 100 },
      ),
    ),
  }),
  'A group to create, or its new content.',
);

export const listOrganizationLabelsGroup = operation({
  id: 'listOrganizationLabelsGroup',
  method: 'GET',
  path,
  tag,
  summary: 'List the label groups of an organization',
  description: `
    Returns the groups of the organization, oldest first, each with its labels and the number of services and clusters that
    use it.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'LabelsGroupWithItems',
      Type.Object({
        ...groupFields,
        associated_items_count: Type.Optional(about('How many services and clusters use it.', Type.Integer())),
      }),
      'A group, with the number of its users.',
    ),
  ),
  errors: [],
});

export const createOrganizationLabelsGroup = operation({
  id: 'createOrganizationLabelsGroup',
  method: 'POST',
  path,
  tag,
  summary: 'Create a label group',
  description: `
    Creates a group of labels. Services name it in \`labels_groups\`; their next deployment on a Kubernetes cluster writes the
    labels to all of their objects. Container engines ignore them. Clusters can name it too; there it is stored only.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A group has the name; case does not matter. | Choose another name. |

  `,
  scope: 'WRITE',
  target: 'organization',
  body: LabelsGroupRequest,
  status: 201,
  response: LabelsGroup,
  errors: [400, 409],
});

// The misspelling is part of the public description; clients name their methods after it.
export const getOrganizationLabelssGroup = operation({
  id: 'getOrganizationLabelssGroup',
  method: 'GET',
  path: onePath,
  tag,
  summary: 'Read a label group',
  description: `
    Returns the name and the labels of the group. The operation \`getOrganizationLabelsGroupAssociatedItems\` lists the services
    and clusters that use it.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: LabelsGroup,
  errors: [],
});

export const editOrganizationLabelsGroup = operation({
  id: 'editOrganizationLabelsGroup',
  method: 'PUT',
  path: onePath,
  tag,
  summary: 'Edit a label group',
  description: `
    Replaces the name and the labels of the group. Nothing is deployed: services that use it are OUT_OF_DATE until their next
    deployment.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A group has the name; case does not matter. | Choose another name. |

  `,
  scope: 'WRITE',
  target: 'organization',
  body: LabelsGroupRequest,
  status: 200,
  response: LabelsGroup,
  errors: [400, 409],
});

export const deleteOrganizationLabelsGroup = operation({
  id: 'deleteOrganizationLabelsGroup',
  method: 'DELETE',
  path: onePath,
  tag,
  summary: 'Delete a label group',
  description: `
    Deletes a group that no service and no cluster uses. This cannot be undone.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | Services or clusters use it; the message names them. | Remove it from them. |
  `,
  scope: 'WRITE',
  target: 'organization',
  status: 204,
  response: null,
  errors: [409],
});

export const getOrganizationLabelsGroupAssociatedItems = operation({
  id: 'getOrganizationLabelsGroupAssociatedItems',
  method: 'GET',
  path: `${onePath}/associatedItems`,
  tag,
  summary: 'List the users of a label group',
  description: `
    Returns the services that use the group, with project, environment and cluster, then the clusters that do, both oldest
    first. A group that is used cannot be deleted.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(GroupItem),
  errors: [],
});
