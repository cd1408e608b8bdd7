import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Uuid, Words, Named } from '../shape.ts';
import { kinds } from './kinds.ts';

const TerraformResource = Named(
  'TerraformResource',
  Type.Object({
    // The id is stable as long as the resource's address does not change.
    id: Uuid,
    resource_type: Type.String(),
    name: Type.String(),
    address: Type.String(),
    provider: Type.String(),
    mode: Words(['managed', 'data'] as const),
    attributes: Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', additionalProperties: true }),
    extracted_at: DateTime,
  }),
);

export const getTerraformResources = operation({
  id: 'getTerraformResources',
  method: 'GET',
  path: '/terraform/{terraformId}/terraformResources',
  tag: kinds.TERRAFORM.Noun,
  summary: 'List the resources of a Terraform configuration after its latest apply, without sensitive values',
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(TerraformResource),
  errors: [],
});
