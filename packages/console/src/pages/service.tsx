import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { detailsOf, linksIn, serviceHistoryOf, servicesIn } from '../data/queries.ts';
import { Face, FailedFace, LoadingRows } from '../parts/face.tsx';
import { Ago, Box, CutAll, Head } from '../parts/page.tsx';
import { StateOf } from '../parts/state.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { Verdict } from '../parts/verdict.tsx';
import { coresOf, instancesOf, memoryOf } from '../quantity.ts';
import {
  deploymentNumber,
  isUnderWay,
  kindName,
  sentence,
  servicesOf,
  wordsOf,
  type Service,
  type ServiceStatus,
} from '../words.ts';
import { changedSince, nowOf, versionOf } from './explanation.tsx';
import { ServiceActions } from './service-actions.tsx';
import { hasTab, ServiceTabs } from './service-tabs.tsx';

interface Shown {
  readonly service: Service | undefined;
  readonly status: ServiceStatus | undefined;
  readonly error: Error | null;
  /** Whether the environment was read and has no such service. */
  readonly isMissing: boolean;
}

/** Reads the service that the address names. */
export function useService(): Shown {
  const { environmentId = '', serviceId } = useParams({ strict: false });
  const services = useQuery(servicesIn(environmentId));
  const details = useQuery(detailsOf(environmentId));
  const service = services.data?.find(({ id }) => id === serviceId);
  return {
    service,
    status: details.data === undefined ? undefined : servicesOf(details.data).find(({ id }) => id === serviceId),
    error: services.data === undefined ? services.error : details.data === undefined ? details.error : null,
    isMissing: services.data !== undefined && service === undefined,
  };
}

export function ServicePage(): ReactNode {
  const { service, status, error, isMissing } = useService();
  const { environmentId = '', serviceId = '' } = useParams({ strict: false });
  const params = { environmentId, serviceId };
  const tab = useLocation().pathname.split('/')[5] ?? '';
  if (error !== null) return <FailedFace error={error} isPage />;
  if (isMissing) {
    return (
      <Face icon="empty" title="Not found" isPage>
        This environment has no such service. It may have been deleted.
      </Face>
    );
  }
  return (
    <>
      <Head
        title={service?.name ?? ' '}
        facts={service !== undefined && status !== undefined && <Facts service={service} status={status} />}
        actions={service !== undefined && <ServiceActions service={service} status={status} />}
      />
      <Tabs label="Service">
        <Link to="/environment/$environmentId/service/$serviceId" params={params} activeOptions={{ exact: true }}>
          Summary
        </Link>
        <Link to="/environment/$environmentId/service/$serviceId/logs" params={params}>
          Logs
        </Link>
        {service !== undefined && <ServiceTabs service={service} />}
      </Tabs>
      {service === undefined || hasTab(service, tab) ? (
        <Outlet />
      ) : (
        <div className="box">
          <Face icon="empty" title="Not found">
            {kindName(service)}: this kind of service has no such page.
          </Face>
        </div>
      )}
    </>
  );
}

function Facts({ service, status }: { readonly service: Service; readonly status: ServiceStatus }): ReactNode {
  const [first, second] = wordsOf(status);
  const address = useAddresses(service)[0];
  return (
    <>
      <StateOf word={first} />
      {second !== undefined && <span>{sentence(second)}</span>}
      <Instances status={status} />
      {address !== undefined && (
        <a className="link cut" href={address} target="_blank" rel="noreferrer">
          {address.replace(/^https?:\/\//, '')}
        </a>
      )}
    </>
  );
}

function Instances({
  status: { running_instances: running, wanted_instances: wanted },
}: {
  readonly status: ServiceStatus;
}): ReactNode {
  if (wanted === null || wanted === undefined) return null;
  return <span>{instancesOf(running, wanted)}</span>;
}

function useAddresses({ id, environment }: Service): string[] {
  const links = useQuery(linksIn(environment.id)).data ?? [];
  const own = links.filter(({ service_id: of }) => of === id);
  return own.toSorted((one, other) => Number(other.is_default) - Number(one.is_default)).map(({ url }) => url);
}

export function Summary(): ReactNode {
  const { service, status } = useService();
  if (service === undefined || status === undefined)
    return (
      <div className="box">
        <LoadingRows />
      </div>
    );
  return <SummaryOf service={service} status={status} />;
}

function SummaryOf({ service, status }: { readonly service: Service; readonly status: ServiceStatus }): ReactNode {
  const history = useQuery(serviceHistoryOf(service)).data ?? [];
  const { failure, conditions = [] } = status;
  const isFailed = failure !== null && failure !== undefined && !isUnderWay(status.state);
  return (
    <>
      {isFailed && (
        <Verdict
          failure={failure}
          changed={changedSince(history, status.execution_id)}
          now={nowOf(status)}
          actions={<DeploymentLink service={service} executionId={status.execution_id} />}
        />
      )}
      {conditions.map((condition) => (
        <Verdict
          key={`${condition.kind} ${condition.code}`}
          failure={condition}
          isWarning={condition.severity !== 'ERROR'}
          now={
            <>
              {condition.occurrences === 1 ? 'Seen once' : `Seen ${condition.occurrences} times`}, first{' '}
              <Ago at={condition.since} />. {nowOf(status)}
            </>
          }
        />
      ))}
      <div className="split">
        <Box title="Now">
          <Definitions rows={factsOf(service, status, useAddresses(service))} />
        </Box>
        <Box
          title="Last deployments"
          more={
            <Link
              className="link"
              to="/environment/$environmentId/service/$serviceId/history"
              params={{ environmentId: service.environment.id, serviceId: service.id }}
            >
              All
            </Link>
          }
        >
          {history.length === 0 && <div className="quiet-line">Never deployed</div>}
          {history.slice(0, 6).map((entry) => (
            <HistoryItem
              key={`${entry.identifier.execution_id} ${entry.auditing_data.created_at}`}
              service={service}
              entry={entry}
            />
          ))}
        </Box>
      </div>
    </>
  );
}

type Entry = Parameters<typeof versionOf>[0];

function HistoryItem({ service, entry }: { readonly service: Service; readonly entry: Entry }): ReactNode {
  const { identifier, status, auditing_data: audit } = entry;
  return (
    <Link
      className="item"
      to="/environment/$environmentId/deployment/$executionId"
      params={{ environmentId: service.environment.id, executionId: identifier.execution_id ?? '' }}
    >
      <span className="col-span-2 min-w-0">
        <StateOf word={status} />
      </span>
      <span className="age">
        <Ago at={audit.created_at} />
      </span>
      <span className="under">
        <CutAll texts={[deploymentNumber(identifier.execution_id ?? ''), versionOf(entry), audit.triggered_by]} />
      </span>
    </Link>
  );
}

function DeploymentLink({
  service,
  executionId,
}: {
  readonly service: Service;
  readonly executionId: string | undefined;
}): ReactNode {
  if (executionId === undefined) return null;
  return (
    <Link
      className="button small"
      to="/environment/$environmentId/deployment/$executionId"
      params={{ environmentId: service.environment.id, executionId }}
    >
      Open deployment {deploymentNumber(executionId)}
    </Link>
  );
}

type Row = readonly [string, ReactNode];

function factsOf(service: Service, status: ServiceStatus, addresses: readonly string[]): Row[] {
  const rows: Row[] = [['Kind', kindName(service)]];
  if (status.wanted_instances !== null && status.wanted_instances !== undefined) {
    rows.push(['Instances', instancesOf(status.running_instances, status.wanted_instances)]);
  }
  rows.push([
    'Addresses',
    addresses.length === 0
      ? 'None outside its environment'
      : addresses.map((url) => (
          <a key={url} className="link block" href={url} target="_blank" rel="noreferrer">
            {url}
          </a>
        )),
  ]);
  rows.push([
    'Configuration',
    status.service_deployment_status === 'OUT_OF_DATE' ? (
      <Link
        key="changes"
        className="link"
        to="/environment/$environmentId/service/$serviceId/history/compare"
        params={{ environmentId: service.environment.id, serviceId: service.id }}
        search={{}}
      >
        Out of date: what a deployment would change
      </Link>
    ) : (
      sentence(status.service_deployment_status)
    ),
  ]);
  if ('git_repository' in service && service.git_repository !== undefined) {
    const { url, branch = '' } = service.git_repository;
    rows.push(['Source', <bdi key="source">{`${url}${branch === '' ? '' : `, branch ${branch}`}`}</bdi>]);
  }
  if ('image_name' in service) rows.push(['Image', <code key="image">{`${service.image_name}:${service.tag}`}</code>]);
  if ('cpu' in service && service.cpu !== undefined) rows.push(['Processor', coresOf(service.cpu)]);
  if ('memory' in service && service.memory !== undefined) rows.push(['Memory', memoryOf(service.memory)]);
  if ('storage' in service && Array.isArray(service.storage) && service.storage.length > 0) {
    rows.push(['Volumes', service.storage.map(({ mount_point: path, size }) => `${path}, ${size} GiB`).join('; ')]);
  }
  return rows;
}

function Definitions({ rows }: { readonly rows: readonly Row[] }): ReactNode {
  return (
    <dl className="definitions">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
