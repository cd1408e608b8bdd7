import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { WithCookie, type Mounting } from '../../http/mount.ts';
import * as account from './account.ts';
import * as device from './device.ts';
import { requestPasswordReset } from './forgotten.ts';
import { createFirstAccount } from './first-run.ts';
import { beginIssuerSignIn, finishIssuerSignIn } from './issuer.ts';
import { changePassword } from './password.ts';
import * as passkey from './passkey.ts';
import { createPasswordLink, resetPassword } from './reset.ts';
import { confirmSecondFactor, createSecondFactor, deleteSecondFactor } from './second-factor.ts';
import { readSecurity } from './security.ts';
import { readOptions, signIn, type Begun } from './sign-in.ts';

type AccountDeps = Needs<
  'database' | 'tokens' | 'sessions' | 'passwords' | 'vault' | 'issuerClients' | 'signInStates',
  'passwords' | 'mail' | 'oidcIssuers' | 'oidcClients' | 'host' | 'port' | 'publicUrl'
>;

export function mountAccount(mounting: Mounting, deps: AccountDeps): void {
  mountPasskeys(mounting, deps);
  mounting
    .on(operations.getAccountInformation, ({ caller }) => account.readAccount(deps, caller))
    .on(operations.editAccountInformation, ({ caller, body }) => account.editAccount(deps, caller, body))
    .on(operations.createSession, ({ caller }) => account.createSession(deps, caller))
    .on(operations.deleteSession, async ({ caller, client }) => {
      await account.deleteSession(deps, { caller, client });
      return new WithCookie(undefined, client.cookie(null));
    })
    .on(operations.listSessions, ({ caller }) => account.listSessions(deps, caller))
    .on(operations.endSession, (call) => account.endSession(deps, call, call.params.sessionId))
    .on(operations.endOtherSessions, (call) => account.endOtherSessions(deps, call))
    .on(operations.changePassword, (call) => changePassword(deps, call, call.body))
    .on(operations.getAccountSecurity, ({ caller }) => readSecurity(deps, caller))
    .on(operations.createSecondFactor, (call) => createSecondFactor(deps, call, call.body))
    .on(operations.confirmSecondFactor, (call) => confirmSecondFactor(deps, call, call.body.code))
    .on(operations.deleteSecondFactor, (call) => deleteSecondFactor(deps, call, call.body))
    .on(operations.createDeviceSignIn, ({ client, body }) => device.createDeviceSignIn(deps, client, body))
    .on(operations.getDeviceToken, ({ body }) => device.getDeviceToken(deps, body.device_code))
    .on(operations.revokeDeviceToken, ({ body }) => device.revokeDeviceToken(deps, body.access_token))
    .on(operations.readDeviceSignIn, (call) => device.readDeviceSignIn(deps, call, call.body.user_code))
    .on(operations.confirmDeviceSignIn, (call) => device.confirmDeviceSignIn(deps, call, call.body))
    .on(operations.denyDeviceSignIn, (call) => device.denyDeviceSignIn(deps, call, call.body.user_code))
    .on(operations.createPasswordLink, ({ caller, params }) => createPasswordLink(deps, caller, params))
    .on(operations.requestPasswordReset, ({ client, body }) => requestPasswordReset(deps, client, body))
    .on(operations.resetPassword, ({ client, body }) => resetPassword(deps, client, body))
    .on(operations.getSignInOptions, ({ client }) => Promise.resolve(readOptions(deps, passkey.hasPasskeys(deps, client))))
    .on(operations.signIn, async ({ client, body }) => withCookie(client, await signIn(deps, client, body)))
    .on(operations.createIssuerSignIn, async ({ client, body }) => {
      const { url, state } = await beginIssuerSignIn(deps, client, body);
      return new WithCookie({ url }, client.signInStateCookie(state));
    })
    .on(operations.completeIssuerSignIn, async ({ client, body }) =>
      withCookie(client, await finishIssuerSignIn(deps, client, body)),
    )
    .on(operations.createFirstAccount, async ({ client, body }) =>
      withCookie(client, await createFirstAccount(deps, client, body)),
    );
}

function mountPasskeys(mounting: Mounting, deps: AccountDeps): void {
  mounting
    .on(operations.listPasskeys, ({ caller }) => passkey.listPasskeys(deps, caller))
    .on(operations.createPasskeyChallenge, async (call) => {
      const { options, state } = await passkey.challengeNewPasskey(deps, call, call.body);
      return new WithCookie(options, call.client.signInStateCookie(state));
    })
    .on(operations.createPasskey, (call) => passkey.createPasskey(deps, call, call.body))
    .on(operations.editPasskey, ({ caller, params, body }) => passkey.renamePasskey(deps, caller, params.passkeyId, body.name))
    .on(operations.deletePasskey, (call) => passkey.deletePasskey(deps, call, call.params.passkeyId))
    .on(operations.createPasskeySignIn, ({ client }) => {
      const { options, state } = passkey.challengeSignIn(deps, client);
      return Promise.resolve(new WithCookie(options, client.signInStateCookie(state)));
    })
    .on(operations.signInWithPasskey, async ({ client, body }) =>
      withCookie(client, await passkey.signInWithPasskey(deps, client, body)),
    );
}

function withCookie<Answer>(client: ClientFacts, { session, answer }: Begun<Answer>): WithCookie<Answer> {
  return new WithCookie(answer, client.cookie(session));
}
