export { mountGitToken } from './routes.ts';
export { gitCredentials, gitToken, shareGitToken } from './git-token.ts';
