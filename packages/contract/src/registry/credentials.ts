import Type from 'typebox';
import { Nullable, Optionals, Named } from '../shape.ts';

const member = Nullable(Type.String({ maxLength: 1000 }));
const secret = Nullable(Type.String({ maxLength: 20_000, description: 'Write-only' }));

/** Credentials for a registry or repository. A rule, not this shape, decides which members each kind needs. */
export const credentialFields = {
  access_key_id: member,
  secret_access_key: secret,
  region: member,
  vendora_access_key: member,
  vendora_secret_key: secret,
  vendora_project_id: member,
  username: member,
  password: secret,
  role_arn: member,
  vendorb_tenant_id: member,
  vendorb_subscription_id: member,
};
export const jsonCredentials = secret;

/** The credentials without their secret members. */
export const ShownCredentials = Named(
  'ShownCredentials',
  Optionals({
    username: Type.String(),
    region: Type.String(),
    vendora_access_key: Type.String(),
    vendora_project_id: Type.String(),
    access_key_id: Type.String(),
    role_arn: Type.String(),
    vendorb_tenant_id: Type.String(),
    vendorb_subscription_id: Type.String(),
  }),
);
