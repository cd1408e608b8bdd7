import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Uuid, Named } from '../shape.ts';
import { GroupItem } from './item.ts';

const tag = 'Label group';
const path = '/organization/{organizationId}/labelsGroups';
const onePath = `${path}/{labelsGroupId}` as const;

const groupFields = {
  id: Uuid,
  created_at: DateTime,
  updated_at: Type.Optional(DateTime),
  name: Type.String(),
  labels: Type.Array(
    Named('Label', Type.Object({ key: Type.String(), value: Type.String(), propagate_to_cloud_provider: Type.Boolean() })),
  ),
};
export const LabelsGroup = Named('LabelsGroup', Type.Object(groupFields));

const LabelsGroupRequest = Named(
  'LabelsGroupRequest',
  Type.Object({
    name: Name,
    labels: Type.Array(
      Named(
        'LabelRequest',
        Type.Object({
          key: Type.String({ minLength: 1, maxLength: 317 }),
          value: Type.String({ maxLength: 63 }),
          propagate_to_cloud_provider: Type.Boolean(),
        }),
      ),
      { maxItems: 100 },
    ),
  }),
);

export const listOrganizationLabelsGroup = operation({
  id: 'listOrganizationLabelsGroup',
  method: 'GET',
  path,
  tag,
  summary: 'List the label groups of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named('LabelsGroupWithItems', Type.Object({ ...groupFields, associated_items_count: Type.Optional(Type.Integer()) })),
  ),
  errors: [],
});

export const createOrganizationLabelsGroup = operation({
  id: 'createOrganizationLabelsGroup',
  method: 'POST',
  path,
  tag,
  summary: 'Create a group of labels, for services to name in `labels_groups`',
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
  summary: 'Replace name and labels of a group',
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
  summary: 'Delete a label group that nothing uses',
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
  summary: 'List what uses a label group',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(GroupItem),
  errors: [],
});
