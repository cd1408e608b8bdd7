import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import { checkContainerImage } from './image-check.ts';
import { readDefaultValues } from './default-values.ts';
import * as check from './source-check.ts';

export function mountSourceCheck(
  mounting: Mounting,
  deps: Needs<
    'database' | 'engine' | 'vault' | 'readDockerfile',
    'allowHttpRegistries' | 'allowLocalRepositories' | 'allowPrivateTargets' | 'vendorRegistries'
  >,
): void {
  mounting
    .on(operations.checkDockerfile, ({ caller, params, body }) => check.checkDockerfile(deps, caller, params.environmentId, body))
    .on(operations.checkGitFile, ({ caller, params, body }) => check.checkFiles(deps, caller, params.environmentId, body))
    .on(operations.checkGitRepository, ({ caller, params, body }) =>
      check.checkRepository(deps, caller, params.environmentId, body),
    )
    .on(operations.checkContainerImage, ({ caller, params, body }) =>
      checkContainerImage(deps, caller, params.environmentId, body),
    )
    .on(operations.createHelmDefaultValues, ({ caller, params, body }) =>
      readDefaultValues(deps, caller, params.environmentId, body.source),
    )
    .on(operations.checkHelmRepository, ({ caller, params, body }) => check.checkChart(deps, caller, params.environmentId, body));
}
