import Type, { type TSchema } from 'typebox';
import { operation } from '../operation.ts';
import { List, Name, Nullable, Uuid, Words, Named } from '../shape.ts';
import { credentialProviders } from './shapes.ts';

/** Shapes of credentials in responses; `object_type` determines the fields. No response contains secrets. */
export const credentialTypes = ['AWS', 'AWS_ROLE', 'EKS_ANYWHERE_VSPHERE', 'VENDORA', 'VENDORB', 'CLOUDC', 'OTHER'] as const;
export type CredentialType = (typeof credentialTypes)[number];

const optional = Type.Optional(Type.String());

export const ClusterCredentials = Named(
  'ClusterCredentials',
  Type.Object({
    id: Uuid,
    name: Type.String(),
    object_type: Words(credentialTypes),
    access_key_id: optional,
    role_arn: optional,
    vsphere_user: optional,
    vendora_access_key: optional,
    vendora_project_id: optional,
    vendora_organization_id: optional,
    vendorb_subscription_id: optional,
    vendorb_tenant_id: optional,
    vendorb_application_id: optional,
    vendorb_application_object_id: optional,
  }),
);

const Value = Type.String({ minLength: 1, maxLength: 2000, pattern: '\\S' });
const Secret = Type.String({ minLength: 1, maxLength: 20_000, pattern: '\\S' });

/** `type` determines which other fields are required. An edit may omit secrets; omitted secrets are kept. */
const AwsRequest = Named(
  'AwsCredentialsRequest',
  Type.Object({
    name: Name,
    type: Words(['AWS_ROLE', 'AWS_STATIC', 'EKS_ANYWHERE_VSPHERE_ROLE', 'EKS_ANYWHERE_VSPHERE_STATIC'] as const),
    role_arn: Type.Optional(Value),
    access_key_id: Type.Optional(Value),
    secret_access_key: Type.Optional(Secret),
    vsphere_user: Type.Optional(Value),
    vsphere_password: Type.Optional(Secret),
  }),
);

const vendoraFields = { vendora_access_key: Value, vendora_project_id: Value, vendora_organization_id: Value };
const VendoraRequest = Named(
  'VendoraCredentialsRequest',
  Type.Object({ name: Name, ...vendoraFields, vendora_secret_key: Secret }),
);
const VendoraEdit = Named(
  'VendoraCredentialsEditRequest',
  Type.Object({ name: Name, ...vendoraFields, vendora_secret_key: Type.Optional(Secret) }),
);

const VendorbRequest = Named(
  'VendorbCredentialsRequest',
  Type.Object({ name: Name, vendorb_subscription_id: Value, vendorb_tenant_id: Value }),
);

// Only keys are supported: federated identities need a service of the vendor that vouches for them.
const cloudcType = { credential_type: Type.Optional(Nullable(Words(['SERVICE_ACCOUNT_KEY'] as const))) };
const CloudcRequest = Named('CloudcCredentialsRequest', Type.Object({ name: Name, ...cloudcType, cloudc_credentials: Secret }));
const CloudcEdit = Named(
  'CloudcCredentialsEditRequest',
  Type.Object({ name: Name, ...cloudcType, cloudc_credentials: Type.Optional(Secret) }),
);

const OnPremiseRequest = Named('OnPremiseCredentialsRequest', Type.Object({ name: Name }));

const tag = 'Cloud credentials';
const listPath = <const S extends string>(segment: S) => `/organization/{organizationId}/${segment}/credentials` as const;
const onePath = <const S extends string>(segment: S) => `${listPath(segment)}/{credentialsId}` as const;

function listing<const Id extends string, const S extends string>(id: Id, segment: S, words: string) {
  return operation({
    id,
    method: 'GET',
    path: listPath(segment),
    tag,
    summary: `List the ${words} credentials of an organization, without their secrets`,
    scope: 'READ',
    target: 'organization',
    status: 200,
    response: List(ClusterCredentials),
    errors: [],
  });
}

function creation<const Id extends string, const S extends string, B extends TSchema>(id: Id, segment: S, body: B) {
  return operation({
    id,
    method: 'POST',
    path: listPath(segment),
    tag,
    summary: 'Store credentials; their secrets are never returned',
    scope: 'ADMIN',
    target: 'organization',
    body,
    status: 201,
    response: ClusterCredentials,
    errors: [400, 409],
  });
}

function reading<const Id extends string, const S extends string>(id: Id, segment: S) {
  return operation({
    id,
    method: 'GET',
    path: onePath(segment),
    tag,
    summary: 'Read credentials, without their secrets',
    scope: 'READ',
    target: 'organization',
    status: 200,
    response: ClusterCredentials,
    errors: [400],
  });
}

function edition<const Id extends string, const S extends string, B extends TSchema>(id: Id, segment: S, body: B) {
  return operation({
    id,
    method: 'PUT',
    path: onePath(segment),
    tag,
    summary: 'Edit credentials; omitted secrets stay',
    scope: 'ADMIN',
    target: 'organization',
    body,
    status: 200,
    response: ClusterCredentials,
    errors: [400, 409],
  });
}

function deletion<const Id extends string, const S extends string>(id: Id, segment: S) {
  return operation({
    id,
    method: 'DELETE',
    path: onePath(segment),
    tag,
    summary: 'Delete credentials that no cluster uses',
    scope: 'ADMIN',
    target: 'organization',
    status: 204,
    response: null,
    errors: [409],
  });
}

export const listAWSCredentials = listing('listAWSCredentials', 'aws', 'AWS');
export const createAWSCredentials = creation('createAWSCredentials', 'aws', AwsRequest);
export const getAWSCredentials = reading('getAWSCredentials', 'aws');
export const editAWSCredentials = edition('editAWSCredentials', 'aws', AwsRequest);
export const deleteAWSCredentials = deletion('deleteAWSCredentials', 'aws');

export const listVendoraCredentials = listing('listVendoraCredentials', 'vendora', 'vendora');
export const createVendoraCredentials = creation('createVendoraCredentials', 'vendora', VendoraRequest);
export const getVendoraCredentials = reading('getVendoraCredentials', 'vendora');
export const editVendoraCredentials = edition('editVendoraCredentials', 'vendora', VendoraEdit);
export const deleteVendoraCredentials = deletion('deleteVendoraCredentials', 'vendora');

export const listVendorbCredentials = listing('listVendorbCredentials', 'vendorb', 'vendorb');
export const createVendorbCredentials = creation('createVendorbCredentials', 'vendorb', VendorbRequest);
export const getVendorbCredentials = reading('getVendorbCredentials', 'vendorb');
export const editVendorbCredentials = edition('editVendorbCredentials', 'vendorb', VendorbRequest);
export const deleteVendorbCredentials = deletion('deleteVendorbCredentials', 'vendorb');

export const listCloudcCredentials = listing('listCloudcCredentials', 'cloudc', 'cloudc');
export const createCloudcCredentials = creation('createCloudcCredentials', 'cloudc', CloudcRequest);
export const getCloudcCredentials = reading('getCloudcCredentials', 'cloudc');
export const editCloudcCredentials = edition('editCloudcCredentials', 'cloudc', CloudcEdit);
export const deleteCloudcCredentials = deletion('deleteCloudcCredentials', 'cloudc');

export const listOnPremiseCredentials = listing('listOnPremiseCredentials', 'onPremise', 'on-premise');
export const createOnPremiseCredentials = creation('createOnPremiseCredentials', 'onPremise', OnPremiseRequest);
export const getOnPremiseCredentials = reading('getOnPremiseCredentials', 'onPremise');
export const editOnPremiseCredentials = edition('editOnPremiseCredentials', 'onPremise', OnPremiseRequest);
export const deleteOnPremiseCredentials = deletion('deleteOnPremiseCredentials', 'onPremise');

export const listOrganizationCredentials = operation({
  id: 'listOrganizationCredentials',
  method: 'GET',
  path: '/organization/{organizationId}/credentials',
  tag,
  summary: 'List the credentials of all kinds, each with the clusters that use it',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'OrganizationCredentials',
      Type.Object({
        credential: ClusterCredentials,
        clusters: Type.Array(
          Named('CredentialCluster', Type.Object({ id: Uuid, name: Type.String(), cloud_provider: Words(credentialProviders) })),
        ),
      }),
    ),
  ),
  errors: [400],
});
