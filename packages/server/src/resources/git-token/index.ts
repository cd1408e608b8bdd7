export { mountGitToken } from './routes.ts';
export { gitCredentials } from './git-token.ts';
