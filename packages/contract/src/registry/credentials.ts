import Type from 'typebox';
import { about, Named, Nullable, Optionals } from '../shape.ts';

const member = Nullable(Type.String({ maxLength: 1000 }));
const secret = Nullable(Type.String({ maxLength: 20_000, description: 'Write-only' }));

/** Credentials for a registry or repository. A rule, not this shape, decides which members each kind needs. */
export const credentialFields = {
  access_key_id: about('The id of an AWS access key.', member),
  secret_access_key: about('The secret of that key; write-only.', secret),
  region: about('The region of AWS.', member),
  vendora_access_key: about('The id of an access key of vendor A.', member),
  vendora_secret_key: about('The secret of that key; write-only.', secret),
  vendora_project_id: about('The project at vendor A.', member),
  username: about('The name to sign in with, together with `password`.', member),
  password: about('The password or token, together with `username`; write-only.', secret),
  role_arn: about('The AWS role to assume.', member),
  vendorb_tenant_id: about('The tenant at vendor B.', member),
  vendorb_subscription_id: about('The subscription at vendor B.', member),
};
export const jsonCredentials = secret;

/** The credentials without their secret members. */
export const ShownCredentials = Named(
  'ShownCredentials',
  Optionals({
    username: about('The name to sign in with.', Type.String()),
    region: about('The region of AWS.', Type.String()),
    vendora_access_key: about('The id of an access key of vendor A.', Type.String()),
    vendora_project_id: about('The project at vendor A.', Type.String()),
    access_key_id: about('The id of an AWS access key.', Type.String()),
    role_arn: about('The AWS role to assume.', Type.String()),
    vendorb_tenant_id: about('The tenant at vendor B.', Type.String()),
    vendorb_subscription_id: about('The subscription at vendor B.', Type.String()),
  }),
  'Credentials without their secrets.',
);
