import { statement } from '@davit/db';

/** Parameters: id, organization. */
export const findGitToken = statement<{ id: string }>(
  'source_check_git_token',
  'select id from git_token where id = $1 and organization_id = $2',
);
