import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Uuid, Words, Named } from '../shape.ts';
import { annotationScopes } from '../shared/words.ts';
import { GroupItem } from './item.ts';

const tag = 'Annotation group';
const path = '/organization/{organizationId}/annotationsGroups';
const onePath = `${path}/{annotationsGroupId}` as const;

const groupFields = {
  id: Uuid,
  created_at: DateTime,
  updated_at: Type.Optional(DateTime),
  name: Type.String(),
  annotations: Type.Array(Type.Object({ key: Type.String(), value: Type.String() })),
  scopes: Type.Array(Words(annotationScopes)),
};
export const AnnotationsGroup = Named('AnnotationsGroup', Type.Object(groupFields));

const AnnotationsGroupRequest = Named(
  'AnnotationsGroupRequest',
  Type.Object({
    name: Name,
    annotations: Type.Array(
      Named(
        'AnnotationRequest',
        Type.Object({ key: Type.String({ minLength: 1, maxLength: 317 }), value: Type.String({ maxLength: 10_000 }) }),
      ),
      { maxItems: 100 },
    ),
    scopes: Type.Array(Words(annotationScopes), { maxItems: 100 }),
  }),
);

export const listOrganizationAnnotationsGroup = operation({
  id: 'listOrganizationAnnotationsGroup',
  method: 'GET',
  path,
  tag,
  summary: 'List the annotation groups of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named('AnnotationsGroupWithItems', Type.Object({ ...groupFields, associated_items_count: Type.Optional(Type.Integer()) })),
  ),
  errors: [],
});

export const createOrganizationAnnotationsGroup = operation({
  id: 'createOrganizationAnnotationsGroup',
  method: 'POST',
  path,
  tag,
  summary: 'Create a group of annotations, for services to name in `annotations_groups`',
  scope: 'WRITE',
  target: 'organization',
  body: AnnotationsGroupRequest,
  status: 201,
  response: AnnotationsGroup,
  errors: [400, 409],
});

export const getOrganizationAnnotationsGroup = operation({
  id: 'getOrganizationAnnotationsGroup',
  method: 'GET',
  path: onePath,
  tag,
  summary: 'Read an annotation group',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: AnnotationsGroup,
  errors: [],
});

export const editOrganizationAnnotationsGroup = operation({
  id: 'editOrganizationAnnotationsGroup',
  method: 'PUT',
  path: onePath,
  tag,
  summary: 'Replace name, annotations and scopes of a group',
  scope: 'WRITE',
  target: 'organization',
  body: AnnotationsGroupRequest,
  status: 200,
  response: AnnotationsGroup,
  errors: [400, 409],
});

export const deleteOrganizationAnnotationsGroup = operation({
  id: 'deleteOrganizationAnnotationsGroup',
  method: 'DELETE',
  path: onePath,
  tag,
  summary: 'Delete an annotation group that nothing uses',
  scope: 'WRITE',
  target: 'organization',
  status: 204,
  response: null,
  errors: [409],
});

export const getOrganizationAnnotationsGroupAssociatedItems = operation({
  id: 'getOrganizationAnnotationsGroupAssociatedItems',
  method: 'GET',
  path: `${onePath}/associatedItems`,
  tag,
  summary: 'List what uses an annotation group',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(GroupItem),
  errors: [],
});
