import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Named, Uuid, Words } from '../shape.ts';
import { kinds } from './kinds.ts';

const TerraformResource = Named(
  'TerraformResource',
  Type.Object({
    // The id is stable as long as the resource's address does not change.
    id: about('Identifies it while its address stays.', Uuid),
    resource_type: about('The type, such as `aws_s3_bucket`.', Type.String()),
    name: about('Its name in the configuration.', Type.String()),
    address: about('Its address in the state.', Type.String()),
    provider: about('The provider that manages it.', Type.String()),
    mode: about(
      'Whether Terraform manages or only reads it.',
      Words({ managed: 'Terraform created it, and destroys it.', data: 'Terraform only reads it.' }),
    ),
    attributes: about(
      'Its attributes, without sensitive ones.',
      Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true }),
    ),
    extracted_at: about('When the attributes were read.', DateTime),
  }),
  'A resource of a configuration, after its latest apply.',
);

export const getTerraformResources = operation({
  id: 'getTerraformResources',
  method: 'GET',
  path: '/terraform/{terraformId}/terraformResources',
  tag: kinds.TERRAFORM.Noun,
  summary: 'List the resources of a Terraform configuration',
  description: `
    Returns the resources in the state after the latest apply, without sensitive values. The list is empty before
    the first apply and after a destroy.
  `,
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(TerraformResource),
  errors: [],
});
