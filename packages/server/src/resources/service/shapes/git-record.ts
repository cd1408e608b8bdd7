import type { ReleaseCommit } from '@davit/engine/port';
import type { ApplicationRecord } from './request.ts';
import type { GitRepositorySpec } from './git.ts';

type GitRecord = NonNullable<ApplicationRecord['git_repository']>;

/** Returns a repository as shown by records. `commit`: the deployed commit. */
export function toGitRecord(spec: GitRepositorySpec, tokenName: string | null, commit: ReleaseCommit | null): GitRecord {
  const { branch, ...repository } = spec;
  return {
    has_access: true,
    ...repository,
    ...(branch === null ? {} : { branch }),
    git_token_name: tokenName,
    ...(commit === null ? {} : { deployed_commit_id: commit.id }),
    ...(commit?.createdAt === undefined ? {} : { deployed_commit_date: commit.createdAt }),
    ...(commit?.authorName === undefined ? {} : { deployed_commit_contributor: commit.authorName }),
    ...(commit?.tag === undefined ? {} : { deployed_commit_tag: commit.tag }),
  };
}
