export { mountToken } from './routes.ts';
export { createAdminToken, ensureAdminToken, listAdminTokens, revokeAdminTokens } from './token.ts';
