export { createGitSource, type GitSourceDriver, type GitSourceOptions } from './git-source.ts';
