import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as repository from './helm-repository.ts';
import { listCharts } from './charts.ts';

export function mountHelmRepository(
  mounting: Mounting,
  deps: Needs<'database' | 'vault', 'allowHttpRegistries' | 'allowPrivateTargets' | 'vendorRegistries'>,
): void {
  mounting
    .on(operations.listAvailableHelmRepository, async () => repository.listAvailable())
    .on(operations.listHelmRepository, ({ caller, params }) =>
      repository.listHelmRepositories(deps, caller, params.organizationId),
    )
    .on(operations.createHelmRepository, ({ caller, params, body }) =>
      repository.createHelmRepository(deps, caller, params.organizationId, body),
    )
    .on(operations.getHelmRepository, ({ caller, params }) => repository.readHelmRepository(deps, caller, params))
    .on(operations.editHelmRepository, ({ caller, params, body }) => repository.editHelmRepository(deps, caller, params, body))
    .on(operations.deleteHelmRepository, ({ caller, params }) => repository.deleteHelmRepository(deps, caller, params))
    .on(operations.getHelmRepositoryAssociatedServices, ({ caller, params }) =>
      repository.listAssociatedServices(deps, caller, params),
    )
    .on(operations.getHelmCharts, ({ caller, params, query }) => listCharts(deps, caller, params, query));
}
