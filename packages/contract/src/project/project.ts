import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Reference, Text, Uuid } from '../shape.ts';

export const Project = Named(
  'Project',
  Type.Object({
    id: about('Identifies the project in paths. Davit chooses it, and it never changes.', Uuid),
    created_at: about('When the project was created.', DateTime),
    updated_at: Type.Optional(
      about(
        `When the project was last edited, or created if it never was. Changes of its environments do not count.
        The value is also the version that \`ETag\` and \`If-Match\` use.`,
        DateTime,
      ),
    ),
    name: about('The name of the project, unique in its organization without regard to case.', Type.String()),
    description: Type.Optional(about('What the project is for, in your own words. Empty if nobody wrote one.', Type.String())),
    associated_environments_count: about(
      'How many environments the project has, of every mode. Only a project with 0 can be deleted.',
      Type.Integer(),
    ),
    organization: about('The organization that owns the project. A project cannot move to another one.', Reference),
  }),
  `A group of environments, usually those of one product: its production, its staging, its previews. Its variables
  reach every service in it.`,
);

const nameRules = `1 to 255 characters, not only blanks. No other project of the organization may have the name;
names are compared without regard to case.`;

const tag = 'Project';

export const listProject = operation({
  id: 'listProject',
  method: 'GET',
  path: '/organization/{organizationId}/project',
  tag,
  summary: 'List the projects of an organization',
  description: `
    Returns the projects of the organization, oldest first. Without \`page\` and \`pageSize\` the list is complete.

    A caller with a custom role gets only the projects that the role lets them see: the list can be empty although the
    organization has projects. Everybody else who may read the list gets all of them.
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

    The answer has the status 200, not 201 as for most other records. Send an \`Idempotency-Key\` to repeat the request
    safely: without one, a repetition fails because the name is taken.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | The organization has a project of this name; case does not matter. | Choose another name, or use the project that exists. |
    | \`VALIDATION_FAILED\` (400) | \`name\` is missing, blank or too long, or \`description\` is too long. | \`errors\` names the field and its rule. |
  `,
  scope: 'WRITE',
  target: 'organization',
  body: Named(
    'ProjectRequest',
    Type.Object({
      name: about(`The name of the project. ${nameRules}`, Name),
      description: Type.Optional(
        about(
          'What the project is for, in your own words; at most 10,000 characters. Without it, or with null, it is empty.',
          Nullable(Text),
        ),
      ),
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

    The header \`ETag\` of the answer is the version of the project: send it as \`If-Match\` when you edit or delete
    the project, and the change is made only if nobody changed the project in between. The number of environments is
    not part of the version.
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
    Changes the name or the description of a project. Fields that you leave out stay as they are. Nothing is deployed
    or restarted; services keep running.

    Filters of webhooks name projects: after you rename a project, a filter with the old name no longer matches it.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | Another project of the organization has the name; case does not matter. | Choose another name. |
    | \`VALIDATION_FAILED\` (400) | \`name\` is null, blank or too long, or \`description\` is too long. | \`errors\` names the field and its rule. |
    | \`PRECONDITION_FAILED\` (412) | The project has changed since you read the \`ETag\` that you sent. | Read it again, and repeat your change. |
  `,
  scope: 'WRITE',
  target: 'project',
  body: Named(
    'ProjectEditRequest',
    Type.Object({
      name: Type.Optional(about(`The new name of the project. ${nameRules} Without it the name stays.`, Name)),
      description: Type.Optional(
        about(
          'The new description; at most 10,000 characters. Without it the description stays; null or an empty text removes it.',
          Nullable(Text),
        ),
      ),
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

    Delete the environments first: that stops their services and removes their data. A project whose environments are
    still being deleted counts as in use; repeat the request when they are gone.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | The project has environments; the message names them. | Delete them, and wait until they are gone. |
    | \`PRECONDITION_FAILED\` (412) | The project has changed since you read the \`ETag\` that you sent. | Read it again, and decide again. |
  `,
  scope: 'WRITE',
  target: 'project',
  status: 204,
  response: null,
  errors: [409],
});
