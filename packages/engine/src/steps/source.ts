import { Sensitive } from '@davit/base';
import { DriverError, type GitSource } from '@davit/drivers';
import type { RepositoryLocation } from '../model.ts';
import { gitSourceOf, type StepContext } from './step.ts';

/** Returns the source of a task, with the credentials of its git token. */
export function sourceOf(context: StepContext): Promise<GitSource> {
  return sourceAt(context, gitSourceOf(context.task));
}

/** Returns the source of any repository, with the credentials of its git token. */
export async function sourceAt(
  context: StepContext,
  { url, branch, gitTokenId }: Pick<RepositoryLocation, 'url' | 'branch' | 'gitTokenId'>,
): Promise<GitSource> {
  const credentials = gitTokenId === null ? null : await context.parts.hooks.gitCredentials(gitTokenId, url);
  if (gitTokenId !== null && credentials === null) {
    throw new DriverError({
      cause: 'GIT_ACCESS_DENIED',
      message: `the git token of ${context.task.name} no longer exists`,
      hint: 'Set git_repository.git_token_id to an existing git token, or to null for a public repository, and deploy again.',
    });
  }
  return {
    url,
    organization: context.deployment.organization_id,
    ...(branch === null ? {} : { branch }),
    ...(credentials === null ? {} : { credentials: { ...credentials, password: new Sensitive(credentials.password) } }),
  };
}
