import { roleDescriptions } from '@davit/contract';
import { statement } from '@davit/db';
import { totpCode, totpStep } from '../../../packages/server/src/auth/totp.ts';
import { makeFirstRunToken } from '../../../packages/server/src/resources/account/index.ts';
import { TestPasskey } from '../../../packages/server/src/resources/account/testing/authenticator.ts';
import { anybody, bearerOf, type Caller } from '../recorder.ts';
import { publicUrl, type ShopServer } from '../shop.ts';

const password = '<password of Ada>';
const forgetAttempts = statement('examples_attempts_forget', 'delete from sign_in_attempt');

/** Ada opens Davit for the first time, and becomes the owner of the organization. */
export async function firstRun({ server, recorder, ada }: ShopServer): Promise<void> {
  const { deps } = server.api;
  // With an issuer the first person is the first one who signs in there; this installation had none at its first run.
  const token = await makeFirstRunToken({ ...deps, config: { ...deps.config, oidcIssuers: [] } });
  recorder.replace(token, '<token of the link that ./davit serve prints>');
  await recorder.call(ada, 'getSignInOptions');
  const body = { token, email: 'ada@example.org', password, name: 'Ada', organization_name: 'Acme' };
  const made = await recorder.call(ada, 'createFirstAccount', { body });
  recorder.ids = { ...recorder.ids, organizationId: String(made['organization_id']) };
}

/** Ada signs in at several places, and protects her account. */
export async function account(shop: ShopServer): Promise<void> {
  const { server, recorder, ada, browser } = shop;
  const body = { email: 'ada@example.org', password };
  await recorder.call(ada, 'signIn', { body });
  await recorder.call(ada, 'getAccountInformation');
  await recorder.call(ada, 'editAccountInformation', { body: { communication_email: 'ada@acme.example' } });
  await recorder.prepare(browser(), 'signIn', { body });
  const sessions = await recorder.call(ada, 'listSessions');
  const other = sessions.results.find((one) => one['is_current'] === false);
  await recorder.call(ada, 'endSession', { params: { sessionId: other?.id ?? '' } });
  await recorder.prepare(browser(), 'signIn', { body });
  await recorder.call(ada, 'endOtherSessions');
  await passkeys(shop);
  const factor = await recorder.call(ada, 'createSecondFactor', { body: { password } });
  const secret = recorder.replace(factor['secret'], '<secret for your authenticator>');
  recorder.replace(factor['url'], 'otpauth://totp/Davit%3Aada%40example.org?secret=<secret for your authenticator>&issuer=Davit');
  const code = recorder.replace(totpCode(secret, totpStep(Date.now())), '123456');
  const confirmed = await recorder.call(ada, 'confirmSecondFactor', { body: { code } });
  const codes: unknown = confirmed['recovery_codes'];
  if (!Array.isArray(codes)) throw new Error('there are no recovery codes');
  for (const [index, one] of codes.entries()) recorder.replace(one, `<recovery code ${index + 1}>`);
  await recorder.call(ada, 'getAccountSecurity');
  await recorder.call(ada, 'deleteSecondFactor', { body: { password } });
  const changed = { current_password: password, new_password: '<new password of Ada>' };
  await recorder.call(ada, 'changePassword', { body: changed });
  await server.database.database.run(forgetAttempts);
}

async function passkeys({ recorder, ada, browser }: ShopServer): Promise<void> {
  const passkey = new TestPasskey(publicUrl);
  recorder.replace(passkey.id, 'id-of-the-passkey');
  const options = await recorder.call(ada, 'createPasskeyChallenge', { body: { password } });
  const credential = passkey.create(options);
  hide(credential.response);
  recorder.replace(options['challenge'], 'challenge-of-the-server');
  const added = await recorder.call(ada, 'createPasskey', { body: { name: 'Phone', credential } });
  await recorder.call(ada, 'listPasskeys');
  await recorder.call(ada, 'editPasskey', { params: { passkeyId: added.id }, body: { name: 'Phone of Ada' } });
  const phone = browser();
  const asked = await recorder.call(phone, 'createPasskeySignIn');
  const signed = passkey.get(asked);
  recorder.replace(asked['challenge'], 'challenge-of-the-server');
  hide(signed.response);
  await recorder.call(phone, 'signInWithPasskey', { body: { credential: signed } });
  await recorder.call(ada, 'deletePasskey', { params: { passkeyId: added.id } });

  function hide(response: object): void {
    for (const [name, value] of Object.entries(response)) if (value !== '') recorder.replace(value, `${name}-of-the-browser`);
  }
}

/** Colleagues sign in through the issuer, and join by invitations. */
export async function colleagues(shop: ShopServer): Promise<void> {
  const { server, recorder, ada, browser, issuer, signInIssuer } = shop;
  const grace = browser();
  const begun = await recorder.call(grace, 'createIssuerSignIn', { body: { issuer: signInIssuer.url } });
  const { search } = await signInIssuer.enter(String(begun['url']), 'heidi');
  hideParameters(new URL(String(begun['url'])).searchParams);
  const answered = new URLSearchParams(search);
  hideParameters(answered);
  const response = ['code', 'state', 'iss'].flatMap((name) => (answered.has(name) ? [`${name}=${answered.get(name)}`] : []));
  recorder.replace(search.slice(1), response.join('&'));
  await recorder.call(grace, 'completeIssuerSignIn', { body: { response: search.slice(1) } });
  const jwt = await issuer.person('ivan');
  const session = await recorder.call(bearerOf(jwt, 'Bearer'), 'createSession');
  recorder.replace(session['token'], '<token of the session>');
  await recorder.call(bearerOf(String(session['token']), 'Bearer'), 'deleteSession');

  const invite = async (email: string, role: keyof typeof roleDescriptions = 'DEVOPS') => {
    const made = await recorder.call(ada, 'postInviteMember', { body: { email, role_id: roleDescriptions[role].id } });
    const token = recorder.replace(String(made['invitation_link']).split('#')[1], '<token of the link>');
    return { token, inviteId: made.id };
  };
  const forGrace = await invite('grace@example.org');
  await recorder.call(ada, 'getOrganizationInvitedMembers');
  await recorder.call(anybody, 'readInvitationLink', { body: { token: forGrace.token } });
  const accepting = { token: forGrace.token, password: '<password of Grace>', name: 'Grace' };
  const accepted = await recorder.call(browser(), 'acceptInvitationLink', { body: accepting });
  recorder.ids = { ...recorder.ids, userId: String(accepted['person_id']) };
  const forHeidi = await invite('heidi@example.org');
  await recorder.call(grace, 'joinByInvitationLink', { body: { token: forHeidi.token } });
  const forIvan = await invite('ivan@example.org', 'VIEWER');
  recorder.ids = { ...recorder.ids, inviteId: forIvan.inviteId };
  await recorder.call(bearerOf(jwt, 'Bearer'), 'getMemberInvitation');
  await recorder.call(bearerOf(jwt, 'Bearer'), 'postAcceptInviteMember');
  const unused = await invite('judy@example.org');
  await recorder.call(ada, 'deleteInviteMember', { params: { inviteId: unused.inviteId } });
  await members(shop);
  await server.database.database.run(forgetAttempts);

  function hideParameters(parameters: URLSearchParams): void {
    for (const name of ['code', 'state', 'nonce', 'code_challenge']) {
      const value = parameters.get(name);
      if (value !== null) recorder.replace(value, `<${name}>`);
    }
  }
}

async function members({ recorder, ada }: ShopServer): Promise<void> {
  const listed = await recorder.call(ada, 'getOrganizationMembers');
  await recorder.call(ada, 'listOrganizationAvailableRoles');
  const { userId } = recorder.ids;
  await recorder.call(ada, 'editOrganizationMemberRole', { body: { user_id: userId, role_id: roleDescriptions.ADMIN.id } });
  const link = await recorder.call(ada, 'createPasswordLink');
  const token = recorder.replace(String(link['link'] ?? link['password_link']).split('#')[1], '<token of the link>');
  await recorder.call(anybody, 'resetPassword', { body: { token, password: '<new password of Grace>' } });
  await recorder.call(anybody, 'requestPasswordReset', { body: { email: 'grace@example.org' } });
  const ivan = listed.results.find((one) => one['email'] === 'ivan@example.org');
  await recorder.call(ada, 'deleteMember', { body: { user_id: ivan?.id } });
}

/** A program signs in with a code that Ada confirms; another one is denied. */
export async function devices({ recorder, ada }: ShopServer): Promise<void> {
  const { organizationId } = recorder.ids;
  const begin = async () => {
    const made = await recorder.call(anybody, 'createDeviceSignIn', {
      body: { name: 'davit on the laptop of Ada', scope: 'WRITE' },
    });
    const device = recorder.replace(made['device_code'], '<device code>');
    const user = recorder.replace(made['user_code'], 'ABCD-EFGH');
    return { device, user };
  };
  const first = await begin();
  await recorder.call(ada, 'readDeviceSignIn', { body: { user_code: first.user } });
  const confirmed = { user_code: first.user, organization_id: organizationId, scope: 'WRITE', expires_in_days: 90 };
  await recorder.call(ada, 'confirmDeviceSignIn', { body: confirmed });
  const got = await recorder.call(anybody, 'getDeviceToken', { body: { device_code: first.device } });
  const token = recorder.replace(got['access_token'], '<API token of the program>');
  await recorder.call(anybody, 'revokeDeviceToken', { body: { access_token: token } });
  const second = await begin();
  await recorder.call(ada, 'denyDeviceSignIn', { body: { user_code: second.user } });
}

/** Returns a caller with an API token of the organization with the scope ADMIN, for programs. */
export async function apiToken({ recorder, ada }: ShopServer): Promise<Caller> {
  const body = { name: 'deployments', description: 'Deploys the shop from the pipeline', scope: 'ADMIN' };
  const made = await recorder.call(ada, 'createOrganizationApiToken', { body });
  recorder.replace(made['token'], '<API token>');
  await recorder.call(ada, 'listOrganizationApiTokens');
  const other = await recorder.prepare(ada, 'createOrganizationApiToken', { body: { name: 'old', scope: 'READ' } });
  recorder.replace(other['token'], '<API token>');
  await recorder.call(ada, 'deleteOrganizationApiToken', { params: { apiTokenId: other.id } });
  return bearerOf(String(made['token']));
}

/** Ada makes a role of her own, and gives the organization to Grace in the end. */
export async function roles({ recorder, ada }: ShopServer): Promise<void> {
  const made = await recorder.call(ada, 'createOrganizationCustomRole', {
    body: { name: 'Support', description: 'Reads the logs' },
  });
  recorder.ids = { ...recorder.ids, customRoleId: made.id };
  await recorder.call(ada, 'getOrganizationCustomRole');
  await recorder.call(ada, 'listOrganizationCustomRoles');
  const { clusterId, projectId } = recorder.ids;
  const permissions = ['DEVELOPMENT', 'PREVIEW', 'STAGING', 'PRODUCTION'].map((environment_type) => ({
    environment_type,
    permission: 'VIEWER',
  }));
  const body = {
    name: 'Support',
    description: 'Reads the logs of the shop',
    cluster_permissions: [{ cluster_id: clusterId, permission: 'VIEWER' }],
    project_permissions: [{ project_id: projectId, is_admin: false, permissions }],
  };
  await recorder.call(ada, 'editOrganizationCustomRole', { body });
  await recorder.call(ada, 'deleteOrganizationCustomRole');
}
