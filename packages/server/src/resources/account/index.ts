export { personOf } from './account.ts';
export { makeFirstRunToken } from './first-run.ts';
export { makeLink, readLink, takeLink } from './links.ts';
export { createAccount, requirePasswords } from './local.ts';
export { createAccountOf, listAccounts, removeSecondFactor, resetAccount } from './operator.ts';
export { mountAccount } from './routes.ts';
export { toSignedIn, type Begun } from './sign-in.ts';
export { trimAccounts } from './trim.ts';
