import { Link, Outlet, useParams } from '@tanstack/react-router';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { organizations } from '../../data/queries.ts';
import { Face } from '../../parts/face.tsx';
import { Head } from '../../parts/page.tsx';

/** The parts of an organization besides its projects. Tabs in two groups: people and rights; resources of services. */
export function OrganizationLayout(): ReactNode {
  const { organizationId = '' } = useParams({ strict: false });
  const all = useQuery(organizations).data;
  const organization = all?.find(({ id }) => id === organizationId);
  const params = { organizationId };
  if (all !== undefined && organization === undefined) {
    return (
      <Face icon="empty" title="Not found" isPage>
        You see no such organization.
      </Face>
    );
  }
  return (
    <>
      <Head title={organization?.name ?? ' '} facts={<span>Organization</span>} />
      <nav className="tabs" aria-label="Organization">
        <Link to="/organization/$organizationId/members" params={params}>
          Members
        </Link>
        <Link to="/organization/$organizationId/roles" params={params}>
          Roles
        </Link>
        <Link to="/organization/$organizationId/tokens" params={params}>
          API tokens
        </Link>
        <Link to="/organization/$organizationId/audit" params={params}>
          Audit log
        </Link>
        <Link to="/organization/$organizationId/clusters" params={params}>
          Clusters
        </Link>
        <Link to="/organization/$organizationId/registries" params={params}>
          Registries
        </Link>
        <Link to="/organization/$organizationId/git-tokens" params={params}>
          Git tokens
        </Link>
        <Link to="/organization/$organizationId/credentials" params={params}>
          Credentials
        </Link>
        <Link to="/organization/$organizationId/groups" params={params}>
          Labels
        </Link>
        <Link to="/organization/$organizationId/settings" params={params}>
          Settings
        </Link>
      </nav>
      <Outlet />
    </>
  );
}
