import Type from 'typebox';
import { byId, operation } from '../operation.ts';
import { kinds, type Kind } from '../service/kinds.ts';
import { about, DateTime, List, Named, Uuid, Words } from '../shape.ts';

const fields = {
  mode: about(
    'Whether files at the path count.',
    Words({ EXCLUDE: 'Files there never count.', MATCH: 'Only files at such paths count, instead of `root_path`.' }),
  ),
  type: about('PATH is the only type there is.', Words(['PATH'] as const)),
};
const Restriction = Named(
  'DeploymentRestriction',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When it was created.', DateTime),
    updated_at: Type.Optional(about('When it was last changed.', DateTime)),
    ...fields,
    value: about('A path from the root of the repository, and all below it; `*`, `?` and `**` match.', Type.String()),
  }),
  'Restricts which changed files trigger a deployment.',
);
const body = Named(
  'DeploymentRestrictionRequest',
  Type.Object({
    ...fields,
    value: about(
      'A path from the root of the repository, and all below it; `*`, `?` and `**` match.',
      Type.String({ minLength: 1, maxLength: 500 }),
    ),
  }),
  'A restriction to create, or its new values.',
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
      summary: `List the restrictions of ${kind.one}`,
      description: `
        Returns which changed paths trigger an automatic deployment. Without one of the mode MATCH, the
        files below \`root_path\` of the service count.
      `,
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
      summary: `Add a restriction to ${kind.one}`,
      description: `
        Restricts which pushes deploy the service, from the next push on; \`auto_deploy\` must be on for any effect.
        Manual deployments are never restricted.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`ALREADY_EXISTS\` (409) | The service has exactly this restriction. | Nothing to do. |
      `,
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
      summary: `Edit a restriction of ${kind.one}`,
      description: `
        Replaces mode and path of a restriction, from the next push on. Nothing is deployed.

        | Code | Cause | Remedy |
        |---|---|---|
        | \`ALREADY_EXISTS\` (409) | The service has exactly this restriction. | Delete this one. |
      `,
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
      summary: `Delete a restriction of ${kind.one}`,
      description: `
        Removes a restriction, from the next push on. Without one of the mode MATCH, the files below
        \`root_path\` of the service count. Nothing is deployed.
      `,
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
