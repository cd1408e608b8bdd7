import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as account from './account.ts';

export function mountAccount(mounting: Mounting, deps: Needs<'database' | 'tokens' | 'sessions'>): void {
  mounting
    .on(operations.getAccountInformation, ({ caller }) => account.readAccount(deps, caller))
    .on(operations.editAccountInformation, ({ caller, body }) => account.editAccount(deps, caller, body))
    .on(operations.createSession, ({ caller }) => account.createSession(deps, caller))
    .on(operations.deleteSession, ({ caller }) => account.deleteSession(deps, caller));
}
