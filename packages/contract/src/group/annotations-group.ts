import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Uuid, Words } from '../shape.ts';
import { annotationScopes } from '../shared/words.ts';
import { GroupItem } from './item.ts';

const tag = 'Annotation group';
const path = '/organization/{organizationId}/annotationsGroups';
const onePath = `${path}/{annotationsGroupId}` as const;

const groupFields = {
  id: about('Identifies it; it never changes.', Uuid),
  created_at: about('When it was created.', DateTime),
  updated_at: Type.Optional(about('When it was last changed.', DateTime)),
  name: about('The name of the group.', Type.String()),
  annotations: about(
    'The annotations of the group.',
    Type.Array(
      Type.Object({
        key: about('The key of the annotation.', Type.String()),
        value: about('The value of the annotation.', Type.String()),
      }),
    ),
  ),
  scopes: about('The objects that get the annotations.', Type.Array(Words(annotationScopes))),
};
export const AnnotationsGroup = Named(
  'AnnotationsGroup',
  Type.Object(groupFields),
  'Annotations that services share, for their Kubernetes objects.',
);

const AnnotationsGroupRequest = Named(
  'AnnotationsGroupRequest',
  Type.Object({
    name: about('Its name, unique in the organization without regard to case.', Name),
    annotations: about(
      'The annotations; the list replaces the former one.',
      Type.Array(
        Named(
          'AnnotationRequest',
          Type.Object({
            key: about(
              'The key, as Kubernetes allows it, such as `example.com/team`.',
              Type.String({ minLength: 1, maxLength: 317 }),
            ),
            value: about('The value of the annotation.', Type.String({ maxLength: 10_000 })),
          }),
          'An annotation of a group.',
        ),
        { maxItems: 100 },
      ),
    ),
    scopes: about('The objects that get the annotations.', Type.Array(Words(annotationScopes), { maxItems: 100 })),
  }),
  'A group to create, or its new content.',
);

export const listOrganizationAnnotationsGroup = operation({
  id: 'listOrganizationAnnotationsGroup',
  method: 'GET',
  path,
  tag,
  summary: 'List the annotation groups of an organization',
  description: `
    Returns the groups of the organization, oldest first, each with its annotations, its scopes and the number of services
    that use it.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'AnnotationsGroupWithItems',
      Type.Object({
        ...groupFields,
        associated_items_count: Type.Optional(about('How many services use it.', Type.Integer())),
      }),
      'A group, with the number of its users.',
    ),
  ),
  errors: [],
});

export const createOrganizationAnnotationsGroup = operation({
  id: 'createOrganizationAnnotationsGroup',
  method: 'POST',
  path,
  tag,
  summary: 'Create an annotation group',
  description: `
    Creates a group of annotations. Services name it in \`annotations_groups\`; their next deployment on a Kubernetes cluster
    writes the annotations to their objects of the kinds in \`scopes\`. Container engines ignore them.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A group has the name; case does not matter. | Choose another name. |

  `,
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
  description: `
    Returns the name, the annotations and the scopes of the group. The operation
    \`getOrganizationAnnotationsGroupAssociatedItems\` lists the services that use it.
  `,
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
  summary: 'Edit an annotation group',
  description: `
    Replaces the name, the annotations and the scopes of the group. Nothing is deployed: services that use it are OUT_OF_DATE
    until their next deployment.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A group has the name; case does not matter. | Choose another name. |

  `,
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
  summary: 'Delete an annotation group',
  description: `
    Deletes a group that no service uses. This cannot be undone.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | Services use it; the message names them. | Remove it from them. |
  `,
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
  summary: 'List the users of an annotation group',
  description: `
    Returns the services that use the group, oldest first, with project, environment and cluster. A group that a service uses
    cannot be deleted.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(GroupItem),
  errors: [],
});
