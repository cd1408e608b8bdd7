import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { WithCookie, type Mounting } from '../../http/mount.ts';
import * as account from './account.ts';
import * as device from './device.ts';
import { createFirstAccount } from './first-run.ts';
import { beginIssuerSignIn, finishIssuerSignIn } from './issuer.ts';
import { changePassword } from './password.ts';
import { createPasswordLink, resetPassword } from './reset.ts';
import { confirmSecondFactor, createSecondFactor, deleteSecondFactor, readSecurity } from './second-factor.ts';
import { readOptions, signIn, type Begun } from './sign-in.ts';

type AccountDeps = Needs<
  'database' | 'tokens' | 'sessions' | 'passwords' | 'vault' | 'issuerClients' | 'signInStates',
  'passwords' | 'oidcIssuers' | 'oidcClients' | 'host' | 'port' | 'publicUrl'
>;

export function mountAccount(mounting: Mounting, deps: AccountDeps): void {
  mounting
    .on(operations.getAccountInformation, ({ caller }) => account.readAccount(deps, caller))
    .on(operations.editAccountInformation, ({ caller, body }) => account.editAccount(deps, caller, body))
    .on(operations.createSession, ({ caller }) => account.createSession(deps, caller))
    .on(operations.deleteSession, async ({ caller, client }) => {
      await account.deleteSession(deps, caller);
      return new WithCookie(undefined, client.cookie(null));
    })
    .on(operations.listSessions, ({ caller }) => account.listSessions(deps, caller))
    .on(operations.endSession, ({ caller, params }) => account.endSession(deps, caller, params.sessionId))
    .on(operations.endOtherSessions, ({ caller }) => account.endOtherSessions(deps, caller))
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
    .on(operations.resetPassword, ({ body }) => resetPassword(deps, body))
    .on(operations.getSignInOptions, () => Promise.resolve(readOptions(deps)))
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

function withCookie<Answer>(client: ClientFacts, { session, answer }: Begun<Answer>): WithCookie<Answer> {
  return new WithCookie(answer, client.cookie(session));
}
