import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as template from './lifecycle-template.ts';

export function mountLifecycleTemplate(mounting: Mounting, deps: Needs<'database' | 'lifecycleTemplates'>): void {
  mounting
    .on(operations.listEnvironmentLifecycleTemplates, ({ caller, params }) =>
      template.listTemplates(deps, caller, params.environmentId),
    )
    .on(operations.getEnvironmentLifecycleTemplate, ({ caller, params }) => template.readTemplate(deps, caller, params));
}
