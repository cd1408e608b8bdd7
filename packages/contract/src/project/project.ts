import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Reference, Text, Uuid } from '../shape.ts';

export const Project = Named(
  'Project',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When the record itself was last edited.', DateTime)),
    name: about('Its name, unique in the organization without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    associated_environments_count: about('How many environments it has. Only a project with 0 can be deleted.', Type.Integer()),
    organization: about('The organization that owns it.', Reference),
  }),
  'A group of environments, usually those of one product. Its variables reach every service in it.',
);

const tag = 'Project';

export const listProject = operation({
  id: 'listProject',
  method: 'GET',
  path: '/organization/{organizationId}/project',
  tag,
  summary: 'List the projects of an organization',
  description: `
    Returns the projects of the organization, oldest first. Without \`page\` and \`pageSize\` the list is complete.

    A caller with a custom role gets those that the role may see.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(Project),
  errors: [],
});

export const createProject = operation({
  id: 'createProject',
  method: 'POST',
  path: '/organization/{organizationId}/project',
  tag,
  summary: 'Create a project',
  description: `
    Creates an empty project. Nothing runs yet: add an environment to it, then services, and deploy.

    The answer has the status 200. A repetition fails because the name is taken, unless both have an \`Idempotency-Key\`.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A project of the organization has the name; case does not matter. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'organization',
  body: Named(
    'ProjectRequest',
    Type.Object({
      name: about('Its name, unique in the organization without regard to case.', Name),
      description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
    }),
    'A project to create.',
  ),
  status: 200,
  response: Project,
  errors: [400, 409],
});

export const getProject = operation({
  id: 'getProject',
  method: 'GET',
  path: '/project/{projectId}',
  tag,
  summary: 'Read a project',
  description: `
    Returns the project with the number of its environments. To read the environments themselves, list them.

    Send the header \`ETag\` as \`If-Match\` with an edit to detect a change in between. The number of environments is not
    part of it.
  `,
  scope: 'READ',
  target: 'project',
  status: 200,
  response: Project,
  errors: [],
});

export const editProject = operation({
  id: 'editProject',
  method: 'PUT',
  path: '/project/{projectId}',
  tag,
  summary: 'Edit a project',
  description: `
    Changes the fields that the request has; the others stay. Nothing is deployed or restarted. Filters of webhooks name
    projects: one with the old name no longer matches.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A project of the organization has the name; case does not matter. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'project',
  body: Named(
    'ProjectEditRequest',
    Type.Object({
      name: Type.Optional(about('Its new name, unique in the organization without regard to case.', Name)),
      description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
    }),
    'The fields of a project to change.',
  ),
  status: 200,
  response: Project,
  errors: [400, 409],
});

export const deleteProject = operation({
  id: 'deleteProject',
  method: 'DELETE',
  path: '/project/{projectId}',
  tag,
  summary: 'Delete a project',
  description: `
    Deletes a project that has no environments, with its variables, secrets and deployment rules. This cannot be undone.

    An environment that is still being deleted counts: repeat the request when it is gone.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | The project has environments; the message names them. | Delete them, and wait until they are gone. |
  `,
  scope: 'WRITE',
  target: 'project',
  status: 204,
  response: null,
  errors: [409],
});
