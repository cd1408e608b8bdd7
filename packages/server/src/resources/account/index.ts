export { personOf } from './account.ts';
export { makeFirstRunToken } from './first-run.ts';
export { makeLink, readLink, takeLink } from './links.ts';
export { createAccount } from './local.ts';
export { createAccountOf, listAccounts, resetAccount } from './operator.ts';
export { mountAccount } from './routes.ts';
export { requirePasswords, toSignedIn, type Begun } from './sign-in.ts';
