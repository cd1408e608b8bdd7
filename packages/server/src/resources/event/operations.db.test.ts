import { operationList } from '@davit/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recipes } from './testing/recipes.ts';
import { EventFixture, type Recipe } from './testing/fixture.ts';

/* Every operation that changes something writes to the audit log, and is refused on an outdated version. */

let fixture: EventFixture;
beforeAll(async () => {
  fixture = await EventFixture.open();
});
afterAll(() => fixture.close());

/** Operations that write nothing to the log of an organization, with the reasons. */
const silent: Readonly<Record<string, string>> = {
  createProjectEnvironmentVariableOverride: 'always refused: nothing is wider than a project',
  createProjectSecretOverride: 'always refused: nothing is wider than a project',
  stopCluster: 'always refused: nothing that is deployed may be stopped',
  upgradeCluster: 'always refused: there is no next version',
  editClusterAdvancedSettings: 'there is no setting yet',
  editHelmAdvancedSettings: 'there is no setting yet',
  checkDockerfile: 'looks at a repository and changes nothing',
  checkGitFile: 'looks at a repository and changes nothing',
  checkGitRepository: 'looks at a repository and changes nothing',
  createHelmDefaultValues: 'reads from a repository and changes nothing',
  checkHelmRepository: 'looks at a repository and changes nothing',
  checkContainerImage: 'asks a registry and changes nothing',
  cleanFailedJob: 'removes what ended runs left on the cluster, as happens by itself, and changes no record',
  cleanFailedJobs: 'removes what ended runs left on the cluster, as happens by itself, and changes no record',
  deployHelm: 'always refused: no cluster of this version can run a Helm chart',
  redeployHelm: 'always refused: no cluster of this version can run a Helm chart',
  stopHelm: 'always refused: nothing of it can have been deployed',
  uninstallHelm: 'does nothing: nothing of it can have been deployed',
  editAccountInformation: 'of a person, who belongs to no organization',
  redeliverWebhookEvent: 'sends again what happened before; the attempt is in the list of the webhook',
  createSession: 'of a person, who belongs to no organization',
  deleteSession: 'of a person, who belongs to no organization',
  endSession: 'of a person, who belongs to no organization',
  endOtherSessions: 'of a person, who belongs to no organization',
  changePassword: 'of a person, who belongs to no organization',
  readInvitationLink: 'looks at an invitation and changes nothing',
  resetPassword: 'of a person, who belongs to no organization',
  createSecondFactor: 'of a person, who belongs to no organization',
  confirmSecondFactor: 'of a person, who belongs to no organization',
  deleteSecondFactor: 'of a person, who belongs to no organization',
  createDeviceSignIn: 'of a program that nobody has confirmed yet',
  readDeviceSignIn: 'looks at a program that waits and changes nothing',
  confirmDeviceSignIn: 'the event is that of the token, when the program gets it',
  denyDeviceSignIn: 'of a program that gets nothing',
  createIssuerSignIn: 'of nobody yet: the person signs in at the issuer',
  completeIssuerSignIn: 'of a person, who belongs to no organization',
  signIn: 'of a person, who belongs to no organization',
  createFirstAccount: 'works once in an installation; resources/account/account.db.test.ts reads its events',
};

function recipeOf(id: string): Recipe {
  const recipe = Object.entries(recipes).find(([name]) => name === id)?.[1];
  if (recipe === undefined) throw new Error(`nothing shows that ${id} is in the audit log: add a call of it to these tables`);
  return recipe;
}

const changing = operationList.filter(({ method }) => method !== 'GET').map((operation) => [operation.id, operation] as const);

const conditional = changing.filter(([, { method }]) => method !== 'POST');
test.each(conditional)('%s is refused on an old version, and leaves no event', async (id, operation) => {
  const answer = await fixture.send(operation, recipeOf(id), { 'if-match': '"old"' });
  expect(answer).toMatchObject({ status: 412, events: [] });
});

const audited = changing.filter(([id]) => silent[id] === undefined);
test.each(audited)('%s is in the log', async (id, operation) => {
  const recipe = recipeOf(id);
  const answer = await fixture.send(operation, recipe);
  expect(answer).toMatchObject({
    status: expect.toSatisfy((status: number) => status < 300),
    events: expect.arrayContaining([recipe.event]),
  });
});

test('what is said to leave no event is an operation, and has no call that should leave one', () => {
  const ids = changing.map(([id]) => id);
  for (const id of Object.keys(silent)) expect(ids).toContain(id);
  const expected = Object.entries(recipes).filter(([, { event }]) => event === '');
  for (const [id] of expected) expect(Object.keys(silent)).toContain(id);
});
