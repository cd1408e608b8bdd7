import { useQuery } from '@tanstack/react-query';
import { useLocation, useParams } from '@tanstack/react-router';
import { environmentOf, organizations, projectOf } from '../data/queries.ts';

const key = 'davit.organization';

/** Which organization and environment the address names. */
export interface PageLocation {
  readonly organizationId: string | null;
  readonly organizationName: string;
  readonly environmentId: string | null;
  readonly environmentName: string;
  /** Whether the page is the overview of the organization. */
  readonly isOverview: boolean;
}

/** Returns the location of the page. Pages without a location of their own show the organization that was last looked at. */
export function usePageLocation(): PageLocation {
  const { organizationId, environmentId, projectId } = useParams({ strict: false });
  const { pathname } = useLocation();
  const environment = useQuery({ ...environmentOf(environmentId ?? ''), enabled: environmentId !== undefined }).data;
  const project = useQuery({ ...projectOf(projectId ?? ''), enabled: projectId !== undefined }).data;
  const all = useQuery(organizations).data ?? [];
  // Until the environment is read, the page stays with the organization that it showed last.
  const wanted = organizationId ?? environment?.organization.id ?? project?.organization.id ?? localStorage.getItem(key);
  const found = all.find(({ id }) => id === wanted) ?? all[0];
  if (found !== undefined) localStorage.setItem(key, found.id);
  return {
    organizationId: found?.id ?? null,
    organizationName: found?.name ?? '',
    environmentId: environmentId ?? null,
    environmentName: environment?.name ?? '',
    isOverview: /^(\/organization\/[^/]+)?\/?$/.test(pathname),
  };
}
