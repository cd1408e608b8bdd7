import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Text, Uuid, Words } from '../shape.ts';
import { plans } from '../shared/words.ts';

const optionalText = Type.Optional(Nullable(Text));

export const Organization = Named(
  'Organization',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    name: about('Its name, unique in the installation without regard to case.', Type.String()),
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
      name: about('Its name, unique in the installation without regard to case.', Name),
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
      name: Type.Optional(about('Its new name, unique in the installation without regard to case.', Name)),
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
