import Type from 'typebox';
import { byId, operation } from '../operation.ts';
import { kinds, type Kind } from '../service/kinds.ts';
import { DateTime, List, Uuid, Words, Named } from '../shape.ts';

const fields = {
  mode: Words(['EXCLUDE', 'MATCH'] as const),
  type: Words(['PATH'] as const),
};
const Restriction = Named(
  'DeploymentRestriction',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    ...fields,
    value: Type.String(),
  }),
);
const body = Named(
  'DeploymentRestrictionRequest',
  Type.Object({ ...fields, value: Type.String({ minLength: 1, maxLength: 500 }) }),
);

const tag = 'Deployment restriction';

/**
 * Returns the operations on deployment restrictions for one kind of service. Each kind that is built from git has them.
 */
function restrictions<const K extends Kind>(kind: K) {
  const noun = kind.noun as K['noun'];
  const Noun = kind.Noun as K['Noun'];
  const all = `/${noun}/{${noun}Id}/deploymentRestriction` as const;
  const one = `${all}/{deploymentRestrictionId}` as const;
  return {
    list: operation({
      id: `get${Noun}DeploymentRestrictions`,
      method: 'GET',
      path: all,
      tag,
      summary: `List the deployment restrictions of ${kind.one}: which changed paths trigger its automatic deployment`,
      scope: 'READ',
      target: 'service',
      status: 200,
      response: List(Restriction),
      errors: [],
    }),
    create: operation({
      id: `create${Noun}DeploymentRestriction`,
      method: 'POST',
      path: all,
      tag,
      summary: `Restrict which changed paths trigger the automatic deployment of ${kind.one}`,
      scope: 'WRITE',
      target: 'service',
      body,
      status: 201,
      response: Restriction,
      errors: [400, 409],
    }),
    edit: operation({
      id: `edit${Noun}DeploymentRestriction`,
      method: 'PUT',
      path: one,
      tag,
      summary: `Edit a deployment restriction of ${kind.one}`,
      scope: 'WRITE',
      target: 'service',
      body,
      status: 200,
      response: Restriction,
      errors: [400, 409],
    }),
    delete: operation({
      id: `delete${Noun}DeploymentRestriction`,
      method: 'DELETE',
      path: one,
      tag,
      summary: `Delete a deployment restriction of ${kind.one}`,
      scope: 'WRITE',
      target: 'service',
      status: 204,
      response: null,
      errors: [409],
    }),
  };
}

/** The operations on restrictions, keyed by the type of service. */
export const restrictionOperations = {
  APPLICATION: restrictions(kinds.APPLICATION),
  JOB: restrictions(kinds.JOB),
  HELM: restrictions(kinds.HELM),
  TERRAFORM: restrictions(kinds.TERRAFORM),
} as const;

export const allRestrictions = byId([
  ...Object.values(restrictionOperations.APPLICATION),
  ...Object.values(restrictionOperations.JOB),
  ...Object.values(restrictionOperations.HELM),
  ...Object.values(restrictionOperations.TERRAFORM),
]);
