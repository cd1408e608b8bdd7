import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Text, Uuid, Words, Named } from '../shape.ts';
import { AssociatedServices } from '../shared/associated-services.ts';
import { gitProviders, plans } from '../shared/words.ts';

const optionalText = Type.Optional(Nullable(Text));

export const Organization = Named(
  'Organization',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    name: Type.String(),
    description: Type.Optional(Nullable(Type.String())),
    plan: Words(plans),
    website_url: Type.Optional(Nullable(Type.String())),
    repository: Type.Optional(Nullable(Type.String())),
    logo_url: Type.Optional(Nullable(Type.String())),
    icon_url: Type.Optional(Nullable(Type.String())),
    admin_emails: Type.Optional(Type.Array(Type.String())),
    owner: Type.Optional(Uuid),
    billing_deployment_restriction: Type.Optional(Nullable(Type.String())),
    organization_plan: Named(
      'OrganizationOrganizationPlan',
      Type.Object({ plan: Words(plans), audit_logs_retention_in_days: Type.Integer() }),
    ),
  }),
);

const organizationFields = {
  description: optionalText,
  website_url: optionalText,
  repository: optionalText,
  logo_url: optionalText,
  icon_url: optionalText,
  admin_emails: Type.Optional(Nullable(Type.Array(Type.String({ format: 'email', maxLength: 320 }), { maxItems: 100 }))),
};

export const createOrganization = operation({
  id: 'createOrganization',
  method: 'POST',
  path: '/organization',
  tag: 'Organization',
  summary: 'Create an organization, with a cluster `Local` on this machine’s container engine',
  scope: 'ADMIN',
  target: 'instance',
  body: Named('OrganizationRequest', Type.Object({ name: Name, plan: Type.Optional(Words(plans)), ...organizationFields })),
  status: 201,
  response: Organization,
  errors: [400, 409],
});

export const listOrganization = operation({
  id: 'listOrganization',
  method: 'GET',
  path: '/organization',
  tag: 'Organization',
  summary: 'List the organizations that the caller may see; the fields of the caller’s own are beside `results`',
  scope: 'READ',
  target: 'instance',
  status: 200,
  response: Named(
    'OrganizationsAndOwn',
    Type.Intersect([List(Organization), Named('OwnOrganization', Type.Partial(Organization))]),
  ),
  errors: [],
});

export const getOrganization = operation({
  id: 'getOrganization',
  method: 'GET',
  path: '/organization/{organizationId}',
  tag: 'Organization',
  summary: 'Read an organization',
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
  summary: 'Edit an organization; omitted fields stay as they are',
  scope: 'ADMIN',
  target: 'organization',
  body: Named('OrganizationEditRequest', Type.Object({ name: Type.Optional(Name), ...organizationFields })),
  status: 200,
  response: Organization,
  errors: [400, 409],
});

export const deleteOrganization = operation({
  id: 'deleteOrganization',
  method: 'DELETE',
  path: '/organization/{organizationId}',
  tag: 'Organization',
  summary: 'Delete an organization that has no projects',
  scope: 'ADMIN',
  target: 'organization',
  status: 204,
  response: null,
  errors: [409],
});

const apiTokenFields = {
  id: Uuid,
  created_at: DateTime,
  updated_at: Type.Optional(DateTime),
  name: Type.String(),
  description: Type.Optional(Type.String()),
  role_name: Type.Optional(Type.String()),
  role_id: Type.Optional(Uuid),
  scope: Type.Optional(Type.String()),
  expires_at: Type.Optional(Nullable(DateTime)),
};

/** Names of token scopes in requests and responses. */
export const tokenScopes = ['ADMIN', 'READ', 'DEPLOY', 'WRITE'] as const;

export const listOrganizationApiTokens = operation({
  id: 'listOrganizationApiTokens',
  method: 'GET',
  path: '/organization/{organizationId}/apiToken',
  tag: 'API token',
  summary: 'List the API tokens of an organization, without their values',
  scope: 'ADMIN',
  target: 'organization',
  query: Type.Partial(Type.Object({ name: Type.String(), creatorName: Type.String() })),
  status: 200,
  response: List(Named('ApiToken', Type.Object(apiTokenFields))),
  errors: [],
});

export const createOrganizationApiToken = operation({
  id: 'createOrganizationApiToken',
  method: 'POST',
  path: '/organization/{organizationId}/apiToken',
  tag: 'API token',
  summary: 'Create an API token; its value is shown in this response and never again',
  scope: 'ADMIN',
  target: 'organization',
  body: Named(
    'ApiTokenRequest',
    Type.Object({
      name: Name,
      description: Type.Optional(Nullable(Text)),
      scope: Type.Optional(Nullable(Words(tokenScopes, { default: 'ADMIN' }))),
      role_id: Type.Optional(Nullable(Uuid)),
      expires_at: Type.Optional(Nullable(DateTime)),
    }),
  ),
  status: 201,
  response: Named('CreatedApiToken', Type.Object({ ...apiTokenFields, token: Type.String() })),
  errors: [400, 409],
});

export const deleteOrganizationApiToken = operation({
  id: 'deleteOrganizationApiToken',
  method: 'DELETE',
  path: '/organization/{organizationId}/apiToken/{apiTokenId}',
  tag: 'API token',
  summary: 'Delete an API token; it stops working at once',
  scope: 'ADMIN',
  target: 'organization',
  status: 204,
  response: null,
  errors: [],
});

const GitToken = Named(
  'GitToken',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    name: Type.String(),
    description: Type.Optional(Type.String()),
    type: Words(gitProviders),
    expired_at: Type.Optional(Type.String()),
    workspace: Type.Optional(Type.String()),
    associated_services_count: Type.Integer(),
    git_api_url: Type.String(),
  }),
);

const gitTokenFields = {
  name: Name,
  description: Type.Optional(Nullable(Text)),
  type: Words(gitProviders),
  workspace: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
  git_api_url: Type.Optional(Nullable(Type.String({ maxLength: 2000, pattern: '^(https?://\\S+)?$' }))),
};
const tokenValue = Type.String({ minLength: 1, maxLength: 10_000 });

export const listOrganizationGitTokens = operation({
  id: 'listOrganizationGitTokens',
  method: 'GET',
  path: '/organization/{organizationId}/gitToken',
  tag: 'Git token',
  summary: 'List the git tokens of an organization, without their values',
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
  summary: 'Store a token for reading private repositories',
  scope: 'WRITE',
  target: 'organization',
  body: Named('GitTokenRequest', Type.Object({ ...gitTokenFields, token: tokenValue })),
  status: 201,
  response: GitToken,
  errors: [400, 409],
});

export const getOrganizationGitToken = operation({
  id: 'getOrganizationGitToken',
  method: 'GET',
  path: '/organization/{organizationId}/gitToken/{gitTokenId}',
  tag: 'Git token',
  summary: 'Read a git token, without its value',
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
  summary: 'Edit a git token; without `token` its value stays',
  scope: 'WRITE',
  target: 'organization',
  body: Named('GitTokenEditRequest', Type.Object({ ...gitTokenFields, token: Type.Optional(tokenValue) })),
  status: 200,
  response: GitToken,
  errors: [400, 409],
});

export const deleteGitToken = operation({
  id: 'deleteGitToken',
  method: 'DELETE',
  path: '/organization/{organizationId}/gitToken/{gitTokenId}',
  tag: 'Git token',
  summary: 'Delete a git token that no service uses',
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
  summary: 'List the services that read their repository with a git token',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: AssociatedServices('GitTokenService', ['APPLICATION', 'CRON', 'LIFECYCLE', 'HELM', 'TERRAFORM']),
  errors: [],
});
