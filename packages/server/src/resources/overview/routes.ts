import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings } from '../service/index.ts';
import type { Mounting } from '../../http/mount.ts';
import { readOrganizationOverview } from './organization.ts';
import * as overview from './overview.ts';

export function mountOverview(
  mounting: Mounting,
  deps: Needs<'database' | 'engine', keyof ReleaseSettings | 'gatewayHttpsPort'>,
): void {
  mounting
    .on(operations.getOrganizationOverview, ({ caller, params }) => readOrganizationOverview(deps, caller, params.organizationId))
    .on(operations.listEnvironmentsByOrganizationId, ({ caller, params }) =>
      overview.listAllEnvironments(deps, caller, params.organizationId),
    )
    .on(operations.listServicesByOrganizationId, ({ caller, params, query }) =>
      overview.listAllServices(deps, caller, params.organizationId, query),
    )
    .on(operations.getOrganizationProjectStats, ({ caller, params }) =>
      overview.countByProject(deps, caller, params.organizationId),
    )
    .on(operations.getProjectEnvironmentServiceNumber, ({ caller, params }) =>
      overview.countByEnvironment(deps, caller, params.projectId),
    )
    .on(operations.getProjectEnvironmentsStatus, ({ caller, params }) =>
      overview.listEnvironmentStatuses(deps, caller, params.projectId),
    )
    .on(operations.getProjectEnvironmentsOverview, ({ caller, params }) =>
      overview.listEnvironmentOverviews(deps, caller, params.projectId),
    );
}
