import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, enumeration, List, Name, Named, Nullable, Text, Uuid, Words } from '../shape.ts';

const apiTokenFields = {
  id: about('Identifies the token; it is not its value.', Uuid),
  created_at: about('When it was created.', DateTime),
  updated_at: Type.Optional(about('When it was last changed.', DateTime)),
  name: about('The name of the token, shown as `triggered_by`.', Type.String()),
  description: Type.Optional(about('What it is for; may be empty.', Type.String())),
  role_name: Type.Optional(about('The name of its role, or of its scope.', Type.String())),
  role_id: Type.Optional(about('The role that it has. Absent: it has a scope.', Uuid)),
  scope: Type.Optional(about('The scope that it has. Absent: it has a role.', Type.String())),
  expires_at: Type.Optional(about('When it stops working; null: never.', Nullable(DateTime))),
};

/** Names of token scopes in requests and responses. */
export const tokenScopes = enumeration(
  'TokenScope',
  {
    ADMIN: 'Everything in the organization.',
    READ: 'Read everything except credentials.',
    DEPLOY: 'Also deploy, restart, stop and cancel.',
    WRITE: 'Also create, edit and delete.',
  },
  'What a token may do. READ, DEPLOY, WRITE and ADMIN contain those before.',
);

export const listOrganizationApiTokens = operation({
  id: 'listOrganizationApiTokens',
  method: 'GET',
  path: '/organization/{organizationId}/apiToken',
  tag: 'API token',
  summary: 'List the API tokens of an organization',
  description: `
    Returns the API tokens, oldest first, with the scope or role and the expiry of each. Values of tokens are not stored, so
    that they cannot be shown.
  `,
  scope: 'ADMIN',
  target: 'organization',
  query: Type.Partial(
    Type.Object({
      name: about('Only tokens whose name contains this; case does not matter.', Type.String()),
      creatorName: about(`Only tokens whose creator's name contains this.`, Type.String()),
    }),
  ),
  status: 200,
  response: List(Named('ApiToken', Type.Object(apiTokenFields), 'An API token, without its value.')),
  errors: [],
});

export const createOrganizationApiToken = operation({
  id: 'createOrganizationApiToken',
  method: 'POST',
  path: '/organization/{organizationId}/apiToken',
  tag: 'API token',
  summary: 'Create an API token',
  description: `
    Creates a token for a program, for this organization only. Its value is in this answer and never shown again. Send it as
    \`Authorization: Token <value>\`.

    It has a scope or a role; without them, all of your rights.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`FORBIDDEN\` (403) | It would have more rights than you. | Choose your role or less. |
    | \`NAME_TAKEN\` (409) | A token has the name. | Choose another name. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'ApiTokenRequest',
    Type.Object({
      name: about('Its name, unique in the organization without regard to case.', Name),
      description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
      scope: Type.Optional(about('What it may do; not together with `role_id`.', Nullable(Words(tokenScopes)))),
      role_id: Type.Optional(about('The role that it has, of the available roles, instead of a scope.', Nullable(Uuid))),
      expires_at: Type.Optional(about('When it stops working; null: never.', Nullable(DateTime))),
    }),
    'An API token to create.',
  ),
  status: 201,
  response: Named(
    'CreatedApiToken',
    Type.Object({ ...apiTokenFields, token: about('The value of the token. It is shown only now.', Type.String()) }),
    'An API token with its value.',
  ),
  errors: [400, 409],
});

export const deleteOrganizationApiToken = operation({
  id: 'deleteOrganizationApiToken',
  method: 'DELETE',
  path: '/organization/{organizationId}/apiToken/{apiTokenId}',
  tag: 'API token',
  summary: 'Delete an API token',
  description: `
    Deletes the token; it stops working at once, and its streams end. What the token created stays, and the audit log keeps
    its name. This cannot be undone.
  `,
  scope: 'ADMIN',
  target: 'organization',
  status: 204,
  response: null,
  errors: [],
});
