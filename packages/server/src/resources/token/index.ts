export { mountToken } from './routes.ts';
export { createAdminToken, ensureAdminToken, listAdminTokens, newToken, revokeAdminTokens } from './token.ts';
