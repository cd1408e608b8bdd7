import Type, { type TSchema } from 'typebox';
import { operation } from '../operation.ts';
import { kinds, type Kind } from '../service/kinds.ts';
import { about, DateTime, List, Named, Optionals, Uuid, Words } from '../shape.ts';
import { Commit } from '../shared/commit.ts';

/** Returns the operation that lists the newest commits of a service's branch. */
function commits<const K extends Kind, Query extends TSchema>(kind: K, query: Query) {
  const noun = kind.noun as K['noun'];
  return operation({
    id: `list${kind.Noun as K['Noun']}Commit`,
    method: 'GET',
    path: `/${noun}/{${noun}Id}/commit`,
    tag: kind.Noun,
    summary: `List the commits of ${kind.one}`,
    description: `
      Returns the newest 100 commits of the branch, newest first. The list is empty if the service has no git
      repository. It is read from the git host; \`SOURCE_NOT_USABLE\` (400) says why that failed.
    `,
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
const from = Optionals({
  startId: about('The first commit of the list, of the 100; a prefix is enough.', commitId),
  gitCommitId: about('The only commit of the list, of the 100; a prefix is enough.', commitId),
});

export const listApplicationCommit = commits(kinds.APPLICATION, from);
export const listJobCommit = commits(kinds.JOB, from);
export const listHelmCommit = commits(
  kinds.HELM,
  Optionals({
    of: about(
      'Which repository to read.',
      Words({ chart: 'That of the chart.', values: 'That of the files of values.' }, { default: 'chart' }),
    ),
  }),
);
export const listTerraformCommit = commits(kinds.TERRAFORM, from);

const Contributor = Named(
  'CommitContributor',
  Type.Partial(
    Type.Object({
      id: about('Never set: git has no ids of people.', Uuid),
      created_at: about('Never set: git has no accounts.', DateTime),
      updated_at: about('Never set: git has no accounts.', DateTime),
      first_name: about('The full name of the author.', Type.String()),
      last_name: about('Never set: git has one name.', Type.String()),
      email: about('The e-mail address of the author.', Type.String()),
      profile_picture_url: about('Never set: git has no pictures.', Type.String()),
    }),
  ),
  'An author of commits. Fields that git does not know are absent.',
);

export const listApplicationContributor = operation({
  id: 'listApplicationContributor',
  method: 'GET',
  path: '/application/{applicationId}/contributor',
  tag: 'Application',
  summary: 'List the contributors of an application',
  description: `
    Returns the authors of the newest 1,000 commits of the branch, one for each e-mail address. It is read from the git
    host; \`SOURCE_NOT_USABLE\` (400) says why that failed.
  `,
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(Contributor),
  errors: [400],
});
