export { mountGitToken } from './routes.ts';
export { gitCredentials, gitToken } from './git-token.ts';
