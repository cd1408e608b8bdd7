import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as gitToken from './git-token.ts';

export function mountGitToken(mounting: Mounting, deps: Needs<'database' | 'vault'>): void {
  mounting
    .on(operations.listOrganizationGitTokens, ({ caller, params }) => gitToken.listGitTokens(deps, caller, params.organizationId))
    .on(operations.createGitToken, ({ caller, params, body }) =>
      gitToken.createGitToken(deps, caller, params.organizationId, body),
    )
    .on(operations.getOrganizationGitToken, ({ caller, params }) => gitToken.readGitToken(deps, caller, params))
    .on(operations.editGitToken, ({ caller, params, body, basePath }) =>
      gitToken.editGitToken(deps, caller, { ...params, basePath }, body),
    )
    .on(operations.deleteGitToken, ({ caller, params }) => gitToken.deleteGitToken(deps, caller, params))
    .on(operations.getGitTokenAssociatedServices, ({ caller, params }) => gitToken.listGitTokenServices(deps, caller, params));
}
