import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as token from './token.ts';

export function mountToken(mounting: Mounting, deps: Needs<'database' | 'tokens'>): void {
  mounting
    .on(operations.listOrganizationApiTokens, ({ caller, params, query }) =>
      token.listTokens(deps, caller, params.organizationId, query),
    )
    .on(operations.createOrganizationApiToken, ({ caller, params, body }) =>
      token.createToken(deps, caller, params.organizationId, body),
    )
    .on(operations.deleteOrganizationApiToken, ({ caller, params }) =>
      token.deleteToken(deps, caller, params.organizationId, params.apiTokenId),
    );
}
