import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Text, Uuid, Words } from '../shape.ts';
import { AssociatedServices } from '../shared/associated-services.ts';
import { gitProviders } from '../shared/words.ts';

const GitToken = Named(
  'GitToken',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    name: about('The name of the token.', Type.String()),
    description: Type.Optional(about('What it is for; may be empty.', Type.String())),
    type: Words(gitProviders),
    expired_at: Type.Optional(about('Never sent: git hosts know when it expires.', Type.String())),
    workspace: Type.Optional(about('The workspace at the git host; for GENERIC, the user name. Absent: none.', Type.String())),
    associated_services_count: about('How many services use it.', Type.Integer()),
    git_api_url: about(`The address of the git host's API; may be empty.`, Type.String()),
  }),
  'A git token, without its value.',
);

const gitTokenFields = {
  name: about('Its name, unique in the organization without regard to case.', Name),
  description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
  type: Words(gitProviders),
  workspace: Type.Optional(
    about('The workspace at the git host; for GENERIC, the user name. null: none.', Nullable(Type.String({ maxLength: 255 }))),
  ),
  git_api_url: Type.Optional(
    about(
      'The API of a git host of your own; null: the public one.',
      Nullable(Type.String({ maxLength: 2000, pattern: '^(https?://\\S+)?$' })),
    ),
  ),
};
const tokenValue = Type.String({ minLength: 1, maxLength: 10_000 });

export const listOrganizationGitTokens = operation({
  id: 'listOrganizationGitTokens',
  method: 'GET',
  path: '/organization/{organizationId}/gitToken',
  tag: 'Git token',
  summary: 'List the git tokens of an organization',
  description: `
    Returns the tokens with which private repositories are read, oldest first. Their values are stored encrypted and
    never shown.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(GitToken),
  errors: [],
});

export const createGitToken = operation({
  id: 'createGitToken',
  method: 'POST',
  path: '/organization/{organizationId}/gitToken',
  tag: 'Git token',
  summary: 'Create a git token',
  description: `
    Stores a token of a git host, encrypted. Services name it in \`git_token_id\` to read private repositories. To let Davit
    set up webhooks, the token needs that right, too.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A git token has the name. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'organization',
  body: Named(
    'GitTokenRequest',
    Type.Object({ ...gitTokenFields, token: about('The value; it is stored encrypted and never shown.', tokenValue) }),
    'A git token to store.',
  ),
  status: 201,
  response: GitToken,
  errors: [400, 409],
});

export const getOrganizationGitToken = operation({
  id: 'getOrganizationGitToken',
  method: 'GET',
  path: '/organization/{organizationId}/gitToken/{gitTokenId}',
  tag: 'Git token',
  summary: 'Read a git token',
  description: `
    Returns the name, the git host and the number of services of a git token. Its value is stored encrypted and never
    shown.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: GitToken,
  errors: [],
});

export const editGitToken = operation({
  id: 'editGitToken',
  method: 'PUT',
  path: '/organization/{organizationId}/gitToken/{gitTokenId}',
  tag: 'Git token',
  summary: 'Edit a git token',
  description: `
    Changes the fields of a git token; optional fields that you leave out stay, the value too. Services use a new value from
    their next deployment on.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`VALIDATION_FAILED\` (400) | \`type\` or \`git_api_url\` changes: a stored value goes to no other host. | Send \`token\` again. |
    | \`NAME_TAKEN\` (409) | A git token has the name. | Choose another name. |
  `,
  scope: 'WRITE',
  target: 'organization',
  body: Named(
    'GitTokenEditRequest',
    Type.Object({
      ...gitTokenFields,
      token: Type.Optional(about('The new value. Left out, the value stays; required for another host.', tokenValue)),
    }),
    'The new fields of a git token.',
  ),
  status: 200,
  response: GitToken,
  errors: [400, 409],
});

export const deleteGitToken = operation({
  id: 'deleteGitToken',
  method: 'DELETE',
  path: '/organization/{organizationId}/gitToken/{gitTokenId}',
  tag: 'Git token',
  summary: 'Delete a git token',
  description: `
    Deletes a git token that no service and no cluster uses. It stays valid at the git host: revoke it there.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | Services or clusters use it; the message names them. | Give them another token. |
  `,
  scope: 'WRITE',
  target: 'organization',
  status: 204,
  response: null,
  errors: [409],
});

export const getGitTokenAssociatedServices = operation({
  id: 'getGitTokenAssociatedServices',
  method: 'GET',
  path: '/organization/{organizationId}/gitToken/{gitTokenId}/associatedServices',
  tag: 'Git token',
  summary: 'List the services that use a git token',
  description: `
    Returns the services whose repository, or whose Helm values, are read with the token, oldest first, with project and
    environment. A token that a service uses cannot be deleted.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: AssociatedServices('GitTokenService', ['APPLICATION', 'CRON', 'LIFECYCLE', 'HELM', 'TERRAFORM']),
  errors: [],
});
