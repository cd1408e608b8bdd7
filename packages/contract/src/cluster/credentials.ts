import Type, { type TSchema } from 'typebox';
import { operation } from '../operation.ts';
import { about, enumeration, List, Name, Named, Nullable, Uuid, Words } from '../shape.ts';
import { credentialProviders } from './shapes.ts';

/** Shapes of credentials in responses; `object_type` determines the fields. No response contains secrets. */
export const credentialTypes = enumeration(
  'CredentialType',
  {
    AWS: 'An access key of AWS.',
    AWS_ROLE: 'A role of AWS to assume.',
    EKS_ANYWHERE_VSPHERE: 'EKS Anywhere on vSphere.',
    VENDORA: 'An access key of vendor A.',
    VENDORB: 'A subscription at vendor B.',
    CLOUDC: 'A service account at vendor C.',
    OTHER: 'A name only, for your own machines.',
  },
  'The kind of credentials, which determines the other fields.',
);
export type CredentialType = (typeof credentialTypes)[number];

const optional = Type.Optional(Type.String());

export const ClusterCredentials = Named(
  'ClusterCredentials',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    name: about('The name of the credentials.', Type.String()),
    object_type: Words(credentialTypes),
    access_key_id: about('The id of an AWS access key; may be empty.', optional),
    role_arn: about('The AWS role to assume.', optional),
    vsphere_user: about('The user of vSphere.', optional),
    vendora_access_key: about('The id of an access key of vendor A.', optional),
    vendora_project_id: about('The project at vendor A.', optional),
    vendora_organization_id: about('The organization at vendor A.', optional),
    vendorb_subscription_id: about('The subscription at vendor B.', optional),
    vendorb_tenant_id: about('The tenant at vendor B.', optional),
    vendorb_application_id: about('Always empty: Davit has no application there.', optional),
    vendorb_application_object_id: about('Always empty: Davit has no application there.', optional),
  }),
  'Cloud credentials, without their secrets.',
);

const Value = Type.String({ minLength: 1, maxLength: 2000, pattern: '\\S' });
const Secret = Type.String({ minLength: 1, maxLength: 20_000, pattern: '\\S' });

/** `type` determines which other fields are required. An edit may omit secrets; omitted secrets are kept. */
const AwsRequest = Named(
  'AwsCredentialsRequest',
  Type.Object({
    name: about('The name, unique among the credentials of the vendor.', Name),
    type: about(
      'The kind of credentials.',
      Words({
        AWS_ROLE: 'A role of AWS to assume.',
        AWS_STATIC: 'An access key of AWS.',
        EKS_ANYWHERE_VSPHERE_ROLE: 'A role, and a user of vSphere.',
        EKS_ANYWHERE_VSPHERE_STATIC: 'An access key, and a user of vSphere.',
      }),
    ),
    role_arn: Type.Optional(about('The AWS role to assume.', Value)),
    access_key_id: Type.Optional(about('The id of an AWS access key.', Value)),
    secret_access_key: Type.Optional(about('The secret of that key; write-only.', Secret)),
    vsphere_user: Type.Optional(about('The user of vSphere.', Value)),
    vsphere_password: Type.Optional(about('The password of that user; write-only.', Secret)),
  }),
  'Credentials of AWS; `type` says which fields are required and stored.',
);

const vendoraFields = {
  vendora_access_key: about('The id of an access key of vendor A.', Value),
  vendora_project_id: about('The project at vendor A.', Value),
  vendora_organization_id: about('The organization at vendor A.', Value),
};
const VendoraRequest = Named(
  'VendoraCredentialsRequest',
  Type.Object({
    name: about('The name, unique among the credentials of the vendor.', Name),
    ...vendoraFields,
    vendora_secret_key: about('The secret of the key; write-only.', Secret),
  }),
  'Credentials of vendor A.',
);
const VendoraEdit = Named(
  'VendoraCredentialsEditRequest',
  Type.Object({
    name: about('The name, unique among the credentials of the vendor.', Name),
    ...vendoraFields,
    vendora_secret_key: Type.Optional(about('The secret of the key. Without it, it stays.', Secret)),
  }),
  'New credentials of vendor A.',
);

const VendorbRequest = Named(
  'VendorbCredentialsRequest',
  Type.Object({
    name: about('The name, unique among the credentials of the vendor.', Name),
    vendorb_subscription_id: about('The subscription at vendor B.', Value),
    vendorb_tenant_id: about('The tenant at vendor B.', Value),
  }),
  'Credentials of vendor B.',
);

// Only keys are supported: federated identities need a service of the vendor that vouches for them.
const cloudcType = {
  credential_type: Type.Optional(
    about('The kind of credentials; there is only one.', Nullable(Words(['SERVICE_ACCOUNT_KEY'] as const))),
  ),
};
const CloudcRequest = Named(
  'CloudcCredentialsRequest',
  Type.Object({
    name: about('The name, unique among the credentials of the vendor.', Name),
    ...cloudcType,
    cloudc_credentials: about('The key file of a service account; write-only.', Secret),
  }),
  'Credentials of vendor C.',
);
const CloudcEdit = Named(
  'CloudcCredentialsEditRequest',
  Type.Object({
    name: about('The name, unique among the credentials of the vendor.', Name),
    ...cloudcType,
    cloudc_credentials: Type.Optional(about('The key file of a service account. Left out, it stays.', Secret)),
  }),
  'New credentials of vendor C.',
);

const OnPremiseRequest = Named(
  'OnPremiseCredentialsRequest',
  Type.Object({ name: about('The name, unique among the credentials of the vendor.', Name) }),
  'Credentials for your own machines: a name only.',
);

const tag = 'Cloud credentials';
const listPath = <const S extends string>(segment: S) => `/organization/{organizationId}/${segment}/credentials` as const;
const onePath = <const S extends string>(segment: S) => `${listPath(segment)}/{credentialsId}` as const;

/** A vendor in paths and in sentences. */
interface Vendor<S extends string> {
  readonly segment: S;
  readonly words: string;
}

const aws = { segment: 'aws', words: 'AWS' } as const;
const vendora = { segment: 'vendora', words: 'vendor A' } as const;
const vendorb = { segment: 'vendorb', words: 'vendor B' } as const;
const cloudc = { segment: 'cloudc', words: 'vendor C' } as const;
const onPremise = { segment: 'onPremise', words: 'on-premise' } as const;

function listing<const Id extends string, const S extends string>(id: Id, { segment, words }: Vendor<S>) {
  return operation({
    id,
    method: 'GET',
    path: listPath(segment),
    tag,
    summary: `List the ${words} credentials of an organization`,
    description: `
      Returns the credentials of this vendor, oldest first, without their secrets. They are stored only: Davit does not sign
      in at vendors.
    `,
    scope: 'READ',
    target: 'organization',
    status: 200,
    response: List(ClusterCredentials),
    errors: [],
  });
}

function creation<const Id extends string, const S extends string, B extends TSchema>(
  id: Id,
  { segment, words }: Vendor<S>,
  body: B,
) {
  return operation({
    id,
    method: 'POST',
    path: listPath(segment),
    tag,
    summary: `Create ${words} credentials`,
    description: `
      Stores credentials, encrypted, for clusters of this vendor. Their secrets are never shown. They are stored only: Davit
      does not sign in at vendors.


      | Code | Cause | Remedy |
      |---|---|---|
      | \`NAME_TAKEN\` (409) | Credentials of the vendor have the name; case does not matter. | Choose another name. |
    `,
    scope: 'ADMIN',
    target: 'organization',
    body,
    status: 201,
    response: ClusterCredentials,
    errors: [400, 409],
  });
}

function reading<const Id extends string, const S extends string>(id: Id, { segment, words }: Vendor<S>) {
  return operation({
    id,
    method: 'GET',
    path: onePath(segment),
    tag,
    summary: `Read ${words} credentials`,
    description: `
      Returns the name and the public fields of the credentials; secrets are never shown. Credentials of another vendor are not
      found under this path (404).
    `,
    scope: 'READ',
    target: 'organization',
    status: 200,
    response: ClusterCredentials,
    errors: [400],
  });
}

function edition<const Id extends string, const S extends string, B extends TSchema>(
  id: Id,
  { segment, words }: Vendor<S>,
  body: B,
) {
  return operation({
    id,
    method: 'PUT',
    path: onePath(segment),
    tag,
    summary: `Edit ${words} credentials`,
    description: `
      Replaces the fields of the credentials. A secret that you leave out stays, unless the key or user that it belongs to
      changes. Clusters that name the credentials do not change.

      | Code | Cause | Remedy |
      |---|---|---|
      | \`NAME_TAKEN\` (409) | Credentials of the vendor have the name; case does not matter. | Choose another name. |
    `,
    scope: 'ADMIN',
    target: 'organization',
    body,
    status: 200,
    response: ClusterCredentials,
    errors: [400, 409],
  });
}

function deletion<const Id extends string, const S extends string>(id: Id, { segment, words }: Vendor<S>) {
  return operation({
    id,
    method: 'DELETE',
    path: onePath(segment),
    tag,
    summary: `Delete ${words} credentials`,
    description: `
      Deletes credentials that no cluster names. They stay valid at the vendor: revoke them there. This cannot be undone.

      | Code | Cause | Remedy |
      |---|---|---|
      | \`IN_USE\` (409) | Clusters use them; the message names them. | Give these others. |
    `,
    scope: 'ADMIN',
    target: 'organization',
    status: 204,
    response: null,
    errors: [409],
  });
}

export const listAWSCredentials = listing('listAWSCredentials', aws);
export const createAWSCredentials = creation('createAWSCredentials', aws, AwsRequest);
export const getAWSCredentials = reading('getAWSCredentials', aws);
export const editAWSCredentials = edition('editAWSCredentials', aws, AwsRequest);
export const deleteAWSCredentials = deletion('deleteAWSCredentials', aws);

export const listVendoraCredentials = listing('listVendoraCredentials', vendora);
export const createVendoraCredentials = creation('createVendoraCredentials', vendora, VendoraRequest);
export const getVendoraCredentials = reading('getVendoraCredentials', vendora);
export const editVendoraCredentials = edition('editVendoraCredentials', vendora, VendoraEdit);
export const deleteVendoraCredentials = deletion('deleteVendoraCredentials', vendora);

export const listVendorbCredentials = listing('listVendorbCredentials', vendorb);
export const createVendorbCredentials = creation('createVendorbCredentials', vendorb, VendorbRequest);
export const getVendorbCredentials = reading('getVendorbCredentials', vendorb);
export const editVendorbCredentials = edition('editVendorbCredentials', vendorb, VendorbRequest);
export const deleteVendorbCredentials = deletion('deleteVendorbCredentials', vendorb);

export const listCloudcCredentials = listing('listCloudcCredentials', cloudc);
export const createCloudcCredentials = creation('createCloudcCredentials', cloudc, CloudcRequest);
export const getCloudcCredentials = reading('getCloudcCredentials', cloudc);
export const editCloudcCredentials = edition('editCloudcCredentials', cloudc, CloudcEdit);
export const deleteCloudcCredentials = deletion('deleteCloudcCredentials', cloudc);

export const listOnPremiseCredentials = listing('listOnPremiseCredentials', onPremise);
export const createOnPremiseCredentials = creation('createOnPremiseCredentials', onPremise, OnPremiseRequest);
export const getOnPremiseCredentials = reading('getOnPremiseCredentials', onPremise);
export const editOnPremiseCredentials = edition('editOnPremiseCredentials', onPremise, OnPremiseRequest);
export const deleteOnPremiseCredentials = deletion('deleteOnPremiseCredentials', onPremise);

export const listOrganizationCredentials = operation({
  id: 'listOrganizationCredentials',
  method: 'GET',
  path: '/organization/{organizationId}/credentials',
  tag,
  summary: 'List the cloud credentials of all vendors',
  description: `
    Returns all cloud credentials of the organization, oldest first, without their secrets and each with the clusters that
    name it. Credentials that a cluster names cannot be deleted.
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'OrganizationCredentials',
      Type.Object({
        credential: ClusterCredentials,
        clusters: about(
          'The clusters that use them.',
          Type.Array(
            Named(
              'CredentialCluster',
              Type.Object({
                id: about('The `id` of the cluster.', Uuid),
                name: about('The name of the cluster.', Type.String()),
                cloud_provider: Words(credentialProviders),
              }),
              'A cluster that uses credentials.',
            ),
          ),
        ),
      }),
      'Credentials, with the clusters that use them.',
    ),
  ),
  errors: [400],
});
