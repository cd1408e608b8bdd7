import type { Body, CredentialType, operations } from '@davit/contract';
import { Problems } from '../shared/problems.ts';

/** Credentials in the form that is stored: public fields, and the secrets separately. */
export interface CredentialsSpec {
  readonly name: string;
  readonly objectType: CredentialType;
  readonly fields: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** The credentials already stored, for an edit that omits secrets. */
export interface StoredCredentials {
  readonly objectType: CredentialType;
  readonly fields: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

type AwsRequest = Body<(typeof operations)['createAWSCredentials']>;

interface Kind {
  readonly objectType: CredentialType;
  readonly fields: readonly (keyof AwsRequest)[];
  /** Secrets, each with the field that it belongs to (`of`). A new access key needs its own secret. */
  readonly secrets: readonly { readonly name: keyof AwsRequest; readonly of: keyof AwsRequest }[];
}

const awsKey = { name: 'secret_access_key', of: 'access_key_id' } as const;
const vspherePassword = { name: 'vsphere_password', of: 'vsphere_user' } as const;

const awsKinds: Readonly<Record<AwsRequest['type'], Kind>> = {
  AWS_ROLE: { objectType: 'AWS_ROLE', fields: ['role_arn'], secrets: [] },
  AWS_STATIC: { objectType: 'AWS', fields: ['access_key_id'], secrets: [awsKey] },
  EKS_ANYWHERE_VSPHERE_ROLE: {
    objectType: 'EKS_ANYWHERE_VSPHERE',
    fields: ['vsphere_user', 'role_arn'],
    secrets: [vspherePassword],
  },
  EKS_ANYWHERE_VSPHERE_STATIC: {
    objectType: 'EKS_ANYWHERE_VSPHERE',
    fields: ['vsphere_user', 'access_key_id'],
    secrets: [vspherePassword, awsKey],
  },
};

/**
 * Returns the fields that `type` requires. Fails with VALIDATION_FAILED, which names each missing field. Fields of
 * other types are ignored.
 */
export function awsCredentials(request: AwsRequest, stored?: StoredCredentials): CredentialsSpec {
  const kind = awsKinds[request.type];
  const problems = new Problems();
  const fields: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  for (const name of kind.fields) {
    const value = request[name] ?? stored?.fields[name];
    if (value === undefined) problems.add(name, `is required where type is ${request.type}`);
    else fields[name] = value;
  }
  for (const { name, of } of kind.secrets) {
    const kept = stored?.fields[of] === fields[of] ? stored?.secrets[name] : undefined;
    const value = request[name] ?? kept;
    if (value !== undefined) secrets[name] = value;
    else if (stored?.secrets[name] === undefined) problems.add(name, `is required where type is ${request.type}`);
    else problems.add(name, `is required, as ${of} is another one`);
  }
  problems.throwIfAny();
  return { name: request.name, objectType: kind.objectType, fields, secrets };
}

type VendoraRequest = Body<(typeof operations)['editVendoraCredentials']>;

export function vendoraCredentials(request: VendoraRequest, stored?: StoredCredentials): CredentialsSpec {
  const { name, vendora_secret_key, ...fields } = request;
  const kept =
    stored?.fields['vendora_access_key'] === fields.vendora_access_key ? stored.secrets['vendora_secret_key'] : undefined;
  const secret = vendora_secret_key ?? kept;
  const problems = new Problems();
  if (secret === undefined) problems.add('vendora_secret_key', 'is required, as vendora_access_key is another one');
  problems.throwIfAny();
  const { vendora_access_key, vendora_project_id, vendora_organization_id } = fields;
  return {
    name,
    objectType: 'VENDORA',
    fields: { vendora_access_key, vendora_project_id, vendora_organization_id },
    secrets: secret === undefined ? {} : { vendora_secret_key: secret },
  };
}

type VendorbRequest = Body<(typeof operations)['createVendorbCredentials']>;

/** The contract requires ids of an application at the vendor. Davit has no application there, so the ids are empty. */
export function vendorbCredentials(request: VendorbRequest): CredentialsSpec {
  const { name, vendorb_subscription_id, vendorb_tenant_id } = request;
  const application = { vendorb_application_id: '', vendorb_application_object_id: '' };
  return {
    name,
    objectType: 'VENDORB',
    fields: { vendorb_subscription_id, vendorb_tenant_id, ...application },
    secrets: {},
  };
}

type CloudcRequest = Body<(typeof operations)['editCloudcCredentials']>;

export function cloudcCredentials(request: CloudcRequest, stored?: StoredCredentials): CredentialsSpec {
  const cloudc_credentials = request.cloudc_credentials ?? stored?.secrets['cloudc_credentials'];
  const secrets: CredentialsSpec['secrets'] = cloudc_credentials === undefined ? {} : { cloudc_credentials };
  return { name: request.name, objectType: 'CLOUDC', fields: {}, secrets };
}

type OnPremiseRequest = Body<(typeof operations)['createOnPremiseCredentials']>;

/** Returns a name for an account for which Davit needs no keys. */
export function onPremiseCredentials(request: OnPremiseRequest): CredentialsSpec {
  return { name: request.name, objectType: 'OTHER', fields: {}, secrets: {} };
}
