import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, enumeration, List, Name, Named, Nullable, Text, Uuid, Words } from '../shape.ts';
import { AssociatedServices } from '../shared/associated-services.ts';
import { gitProviders, plans } from '../shared/words.ts';

const optionalText = Type.Optional(Nullable(Text));

export const Organization = Named(
  'Organization',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    name: about('The name, unique in the installation without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; null: empty.', Nullable(Type.String()))),
    plan: about('The plan of the organization; it limits nothing.', Words(plans)),
    website_url: Type.Optional(about('The website of the organization; null: none.', Nullable(Type.String()))),
    repository: Type.Optional(about('The main repository; null: none.', Nullable(Type.String()))),
    logo_url: Type.Optional(about('The logo of the organization; null: none.', Nullable(Type.String()))),
    icon_url: Type.Optional(about('The icon of the organization; null: none.', Nullable(Type.String()))),
    admin_emails: Type.Optional(about('Addresses to reach its administrators.', Type.Array(Type.String()))),
    owner: Type.Optional(about('The person who owns it, or the API token that created it.', Uuid)),
    billing_deployment_restriction: Type.Optional(
      about('Why deployments are refused, set by the operator; null: they are not.', Nullable(Type.String())),
    ),
    organization_plan: Named(
      'OrganizationOrganizationPlan',
      Type.Object({
        plan: Words(plans),
        audit_logs_retention_in_days: about('How long the audit log is kept, in days.', Type.Integer()),
      }),
      'A plan, with its terms.',
    ),
  }),
  'The owner of everything else. Organizations do not see each other.',
);

const organizationFields = {
  description: about('What it is for; null: empty.', optionalText),
  website_url: about('The website of the organization; null: none.', optionalText),
  repository: about('The main repository; null: none.', optionalText),
  logo_url: about('The logo of the organization; null: none.', optionalText),
  icon_url: about('The icon of the organization; null: none.', optionalText),
  admin_emails: Type.Optional(
    about(
      'Addresses to reach its administrators; null: none.',
      Nullable(Type.Array(Type.String({ format: 'email', maxLength: 320 }), { maxItems: 100 })),
    ),
  ),
};

export const createOrganization = operation({
  id: 'createOrganization',
  method: 'POST',
  path: '/organization',
  tag: 'Organization',
  summary: 'Create an organization',
  description: `
    Creates an organization with one cluster, \`Local\`: the container engine of the machine that Davit runs on. A person
    who creates an organization owns it.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | An organization has the name; case does not matter. | Choose another name. |
  `,
  scope: 'ADMIN',
  target: 'instance',
  body: Named(
    'OrganizationRequest',
    Type.Object({
      name: about('The name, unique in the installation without regard to case.', Name),
      plan: Type.Optional(about('The plan; it limits nothing. Default: TEAM_2025.', Words(plans))),
      ...organizationFields,
    }),
    'An organization to create.',
  ),
  status: 201,
  response: Organization,
  errors: [400, 409],
});

export const listOrganization = operation({
  id: 'listOrganization',
  method: 'GET',
  path: '/organization',
  tag: 'Organization',
  summary: 'List your organizations',
  description: `
    Returns the organizations that you may see, oldest first: those of a person, the one of an API token, or all for an
    administrator of the instance. The fields of the first one stand beside \`results\`, for older clients.
  `,
  scope: 'READ',
  target: 'instance',
  status: 200,
  response: Named(
    'OrganizationsAndOwn',
    Type.Intersect([
      List(Organization),
      Named('OwnOrganization', Type.Partial(Organization), 'The fields of the first organization, for older clients.'),
    ]),
    'The organizations, with the fields of the first beside `results`.',
  ),
  errors: [],
});

export const getOrganization = operation({
  id: 'getOrganization',
  method: 'GET',
  path: '/organization/{organizationId}',
  tag: 'Organization',
  summary: 'Read an organization',
  description: `
    Returns the name, the plan, the owner and the contact data of the organization, and whether its deployments are
    restricted.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: Organization,
  errors: [],
});

export const editOrganization = operation({
  id: 'editOrganization',
  method: 'PUT',
  path: '/organization/{organizationId}',
  tag: 'Organization',
  summary: 'Edit an organization',
  description: `
    Changes the fields that you send; the others stay. Nothing is deployed or restarted. The plan and the owner cannot be
    changed here.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | An organization has the name; case does not matter. | Choose another name. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'OrganizationEditRequest',
    Type.Object({
      name: Type.Optional(about('The new name, unique in the installation without regard to case.', Name)),
      ...organizationFields,
    }),
    'The fields of an organization to change; the others stay.',
  ),
  status: 200,
  response: Organization,
  errors: [400, 409],
});

export const deleteOrganization = operation({
  id: 'deleteOrganization',
  method: 'DELETE',
  path: '/organization/{organizationId}',
  tag: 'Organization',
  summary: 'Delete an organization',
  description: `
    Deletes an organization without projects, with its clusters' records, memberships, tokens and audit log. Accounts of
    people stay. This cannot be undone.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`IN_USE\` (409) | The organization has projects; the message names them. | Delete them first. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  status: 204,
  response: null,
  errors: [409],
});

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
      name: about('The name, unique in the organization.', Name),
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
  name: about('The name, unique in the organization.', Name),
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
