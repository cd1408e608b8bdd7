import { useQuery } from '@tanstack/react-query';
import { Link, useLocation, useParams } from '@tanstack/react-router';
import { Fragment, useEffect, type ReactNode } from 'react';
import { projectOf, servicesIn } from '../data/queries.ts';
import { deploymentNumber } from '../words.ts';
import type { PageLocation } from './page-location.ts';

const namesOfPages: Readonly<Record<string, string>> = {
  account: 'Your account',
  audit: 'Audit log',
  clusters: 'Clusters',
  credentials: 'Cloud credentials',
  'git-tokens': 'Git tokens',
  groups: 'Labels',
  members: 'Members',
  new: 'New project',
  parts: 'Parts',
  registries: 'Registries',
  roles: 'Roles',
  settings: 'Settings',
  tokens: 'API tokens',
  webhooks: 'Webhooks',
};

/** Returns the name of a page that is in no environment. */
function useNameOfPage(): string {
  const { projectId, clusterId } = useParams({ strict: false });
  const { pathname } = useLocation();
  const project = useQuery({ ...projectOf(projectId ?? ''), enabled: projectId !== undefined }).data;
  if (projectId !== undefined) return project?.name ?? '';
  if (clusterId !== undefined) return 'Cluster';
  return namesOfPages[pathname.split('/').findLast((part) => part !== '') ?? ''] ?? 'Overview';
}

interface CrumbsProps {
  readonly location: PageLocation;
  readonly projectName: string;
}

/** Where the page is: organization, project, environment, and the thing itself. Also the title of the window. */
export function Crumbs({ location, projectName }: CrumbsProps): ReactNode {
  const { serviceId, executionId } = useParams({ strict: false });
  const { environmentId } = location;
  const alone = useNameOfPage();
  const services = useQuery({
    ...servicesIn(environmentId ?? ''),
    enabled: environmentId !== null && serviceId !== undefined,
  }).data;
  const last =
    executionId === undefined
      ? services?.find(({ id }) => id === serviceId)?.name
      : `Deployment ${deploymentNumber(executionId)}`;
  const steps: ReactNode[] = [];
  if (location.organizationName !== '') steps.push(<Link to="/">{location.organizationName}</Link>);
  if (environmentId === null) steps.push(<b>{alone}</b>);
  else {
    if (projectName !== '') steps.push(<span>{projectName}</span>);
    if (last === undefined) {
      // An environment that does not exist has no name.
      if (location.environmentName !== '') steps.push(<b>{location.environmentName}</b>);
    } else {
      steps.push(
        <Link to="/environment/$environmentId" params={{ environmentId }}>
          {location.environmentName}
        </Link>,
        <b>{last}</b>,
      );
    }
  }
  const title =
    last ?? (environmentId === null ? (location.isOverview ? location.organizationName : alone) : location.environmentName);
  useEffect(() => {
    document.title = title === '' ? 'Davit' : `${title} · Davit`;
  }, [title]);
  return (
    <nav className="crumbs" aria-label="Where you are">
      {steps.map((step, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- the place in the path is the identity
        <Fragment key={index}>
          {index > 0 && (
            <span className="sep" aria-hidden="true">
              /
            </span>
          )}
          <bdi className={index === steps.length - 1 ? 'keep' : ''}>{step}</bdi>
        </Fragment>
      ))}
    </nav>
  );
}
