import Type, { type TSchema } from 'typebox';
import { operation } from '../operation.ts';
import { kinds, type Kind } from '../service/kinds.ts';
import { DateTime, List, Optionals, Uuid, Words, Named } from '../shape.ts';
import { Commit } from '../shared/deployment.ts';

/** Returns the operation that lists the newest commits of a service's branch. */
function commits<const K extends Kind, Query extends TSchema>(kind: K, query: Query) {
  const noun = kind.noun as K['noun'];
  return operation({
    id: `list${kind.Noun as K['Noun']}Commit`,
    method: 'GET',
    path: `/${noun}/{${noun}Id}/commit`,
    tag: kind.Noun,
    summary: `List the newest commits of the branch of ${kind.one}, newest first; empty if it has no git repository`,
    scope: 'READ',
    target: 'service',
    query,
    status: 200,
    response: List(Commit),
    errors: [400],
  });
}

const commitId = Type.String({ minLength: 7, maxLength: 40, pattern: '^[0-9a-fA-F]+$' });
// A prefix of the commit id suffices for both parameters. `startId`: the newest commit in the list. `gitCommitId`: the
// only commit in the list.
const from = Optionals({ startId: commitId, gitCommitId: commitId });

export const listApplicationCommit = commits(kinds.APPLICATION, from);
export const listJobCommit = commits(kinds.JOB, from);
export const listHelmCommit = commits(kinds.HELM, Optionals({ of: Words(['chart', 'values'] as const, { default: 'chart' }) }));
export const listTerraformCommit = commits(kinds.TERRAFORM, from);

const Contributor = Named(
  'CommitContributor',
  Type.Partial(
    Type.Object({
      id: Uuid,
      created_at: DateTime,
      updated_at: DateTime,
      first_name: Type.String(),
      last_name: Type.String(),
      email: Type.String(),
      profile_picture_url: Type.String(),
    }),
  ),
);

export const listApplicationContributor = operation({
  id: 'listApplicationContributor',
  method: 'GET',
  path: '/application/{applicationId}/contributor',
  tag: 'Application',
  summary:
    'List the authors of the newest 1,000 commits of the branch of an application, by e-mail address; `first_name` is the full name',
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(Contributor),
  errors: [400],
});
