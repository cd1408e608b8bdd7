import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import type { CallAnswer } from '@davit/client';
import { Fragment, memo, useMemo, type ReactNode } from 'react';
import { detailsOf, environmentOf, historyOf, linksIn, servicesIn } from '../data/queries.ts';
import { FailedFace, LoadingRows } from '../parts/face.tsx';
import { Icon } from '../parts/icon.tsx';
import { useGrowing } from '../parts/growing.ts';
import { DeploymentName, History } from '../parts/history.tsx';
import { Ago, Cut, Head } from '../parts/page.tsx';
import { ServiceStates, State, StateOf } from '../parts/state.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { duration, milliseconds } from '../time.ts';
import {
  isUnderWay,
  kindName,
  plural,
  servicesOf,
  servicesOfStage,
  shapeOfService,
  type EnvironmentDetails,
  type Service,
  type ServiceStatus,
} from '../words.ts';
import { EnvironmentActions } from './environment-actions.tsx';
import { NoServices } from './no-services.tsx';

const none: ServiceRowProps['addresses'] = [];

function useEnvironmentId(): string {
  return useParams({ strict: false }).environmentId ?? '';
}

export function EnvironmentPage(): ReactNode {
  const environmentId = useEnvironmentId();
  const environment = useQuery(environmentOf(environmentId));
  const details = useQuery(detailsOf(environmentId));
  if (environment.data === undefined && environment.error !== null) return <FailedFace error={environment.error} isPage />;
  const count = details.data === undefined ? undefined : servicesOf(details.data).length;
  return (
    <>
      <Head
        title={environment.data?.name ?? ' '}
        facts={environment.data !== undefined && <Facts environment={environment.data} details={details.data} />}
        actions={<EnvironmentActions environmentId={environmentId} details={details.data} name={environment.data?.name ?? ''} />}
      />
      <Tabs label="Environment">
        <Link to="/environment/$environmentId" params={{ environmentId }} activeOptions={{ exact: true }}>
          Services<span className="n">{count}</span>
        </Link>
        <Link to="/environment/$environmentId/graph" params={{ environmentId }}>
          Graph
        </Link>
        <Link to="/environment/$environmentId/deployments" params={{ environmentId }}>
          Deployments
        </Link>
        <Link to="/environment/$environmentId/previews" params={{ environmentId }}>
          Previews
        </Link>
        <Link to="/environment/$environmentId/settings" params={{ environmentId }}>
          Settings
        </Link>
      </Tabs>
      <Outlet />
    </>
  );
}

interface FactsProps {
  readonly environment: CallAnswer<'getEnvironment'>;
  readonly details: EnvironmentDetails | undefined;
}

function Facts({ environment, details }: FactsProps): ReactNode {
  const failing = details === undefined ? 0 : servicesOf(details).filter((one) => shapeOfService(one) === 'bad').length;
  const status = details?.environment;
  return (
    <>
      {status !== undefined && <StateOf word={status.state} />}
      {failing > 0 && <State shape="bad">{plural(failing, 'service')} failing</State>}
      <span className="chip">{environment.mode}</span>
      <span className="cut">on {environment.cluster_name}</span>
      {status?.last_deployment_date !== undefined && status.last_deployment_date !== null && (
        <span className="cut">
          last deployed <Ago at={status.last_deployment_date} /> by {status.triggered_by}
        </span>
      )}
    </>
  );
}

export function ServicesOfEnvironment(): ReactNode {
  const environmentId = useEnvironmentId();
  const details = useQuery(detailsOf(environmentId));
  const services = useQuery(servicesIn(environmentId));
  const links = useQuery(linksIn(environmentId)).data;
  const addresses = useMemo(() => Map.groupBy(links ?? [], ({ service_id: id }) => id), [links]);
  const drawn = useGrowing(services.data?.length ?? 0);
  const error = details.data === undefined ? details.error : services.data === undefined ? services.error : null;
  if (error !== null) return <FailedFace error={error} />;
  if (details.data === undefined || services.data === undefined)
    return (
      <div className="box">
        <LoadingRows rows={6} />
      </div>
    );
  if (services.data.length === 0) return <NoServices environmentId={environmentId} />;
  const byId = new Map(services.data.map((service) => [service.id, service]));
  let left = drawn;
  const stages = details.data.stages.flatMap((stage) => {
    const all = servicesOfStage(stage).slice(0, left);
    left -= all.length;
    return all.length === 0 ? [] : [{ ...stage.stage, services: all }];
  });
  return (
    <div className="box">
      <table className="list">
        <thead>
          <tr>
            <th className="w-[24%]">Service</th>
            <th className="w-[20%]">State</th>
            <th className="w-[28%]">Address</th>
            <th className="w-[10%]">Instances</th>
            <th>Deployed</th>
          </tr>
        </thead>
        {stages.map((stage, index) => (
          <tbody key={stage.id}>
            <tr className="stage">
              <th colSpan={5} scope="rowgroup">
                <span className="n">{index + 1}</span>
                <bdi>{stage.name}</bdi>
              </th>
            </tr>
            {stage.services.map((status) => {
              const service = byId.get(status.id);
              if (service === undefined) return null;
              return (
                <ServiceRow key={status.id} service={service} status={status} addresses={addresses.get(status.id) ?? none} />
              );
            })}
          </tbody>
        ))}
      </table>
    </div>
  );
}

interface ServiceRowProps {
  readonly service: Service;
  readonly status: ServiceStatus;
  readonly addresses: CallAnswer<'listEnvironmentServicesLinks'>['results'];
}

/** A row is drawn again only when something in it changed: there may be hundreds. */
const ServiceRow = memo(function ServiceRow({ service, status, addresses }: ServiceRowProps): ReactNode {
  const params = { environmentId: service.environment.id, serviceId: service.id };
  const trouble = troubleOf(status);
  const address = addresses.find((one) => one.is_default) ?? addresses[0];
  const { running_instances: running, wanted_instances: wanted } = status;
  const isChanged = status.service_deployment_status === 'OUT_OF_DATE' && trouble?.isWarning !== false;
  return (
    <>
      <tr className={trouble === null ? '' : 'has-why'}>
        <td>
          <div className="name">
            <Icon name={service.service_type} />
            <Link to="/environment/$environmentId/service/$serviceId" params={params} className="min-w-0">
              <Cut text={service.name} />
            </Link>
            {isChanged && (
              <span className="chip change" title="The configuration was changed after the last deployment">
                Out of date
              </span>
            )}
          </div>
          <div className="under pl-[23px]">{kindName(service)}</div>
        </td>
        <td>
          <ServiceStates status={status} />
        </td>
        <td className="wide-only">
          {address === undefined ? (
            <span className="text-muted">–</span>
          ) : (
            <a className="link cut" href={address.url} target="_blank" rel="noreferrer">
              {address.url.replace(/^https?:\/\//, '')}
            </a>
          )}
          {addresses.length > 1 && <div className="under">and {addresses.length - 1} more</div>}
        </td>
        <td className="wide-only nowrap">
          {wanted === null || wanted === undefined ? <span className="text-muted">–</span> : `${running ?? 0}/${wanted}`}
        </td>
        <td className="wide-only nowrap">
          {status.last_deployment_date === undefined ? (
            <span className="text-muted">Never</span>
          ) : (
            <Ago at={status.last_deployment_date} />
          )}
        </td>
      </tr>
      {trouble !== null && (
        <tr className="why">
          <td colSpan={5}>
            <div className={`why-line ${trouble.isWarning ? 'warn' : ''}`}>
              <b>{trouble.message}</b>
              <span title={trouble.hint}>{trouble.hint}</span>
              <Link to="/environment/$environmentId/service/$serviceId" params={params}>
                Why, and what to do
              </Link>
            </div>
          </td>
        </tr>
      )}
    </>
  );
});

/** Returns what is wrong with a service, the worst first; null if nothing is, or if it is being deployed again. */
function troubleOf({
  state,
  failure,
  conditions = [],
}: ServiceStatus): { message: string; hint: string; isWarning: boolean } | null {
  if (failure !== null && failure !== undefined && !isUnderWay(state)) return { ...failure, isWarning: false };
  const worst = conditions.find(({ severity }) => severity === 'ERROR') ?? conditions[0];
  return worst === undefined ? null : { ...worst, isWarning: worst.severity !== 'ERROR' };
}

export function DeploymentsOfEnvironment(): ReactNode {
  const environmentId = useEnvironmentId();
  const history = useInfiniteQuery(historyOf(environmentId));
  return (
    <History
      history={history}
      advice="Deploy the environment: each deployment then stands here, with its log and, if it failed, its reason."
    >
      {(entries) => (
        <table className="list">
          <thead>
            <tr>
              <th className="w-[26%]">Deployment</th>
              <th className="w-[22%]">State</th>
              <th className="w-[32%]">Services</th>
              <th>Time</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((one) => (
              <tr key={one.identifier.execution_id}>
                <DeploymentName
                  environmentId={environmentId}
                  executionId={one.identifier.execution_id}
                  action={one.trigger_action}
                  by={one.auditing_data.triggered_by}
                />
                <td>
                  <StateOf word={one.status} />
                </td>
                <td className="wide-only">
                  <Cut
                    text={one.stages.flatMap(({ services }) => services.map(({ identifier }) => identifier.name)).join(', ')}
                  />
                </td>
                <td className="wide-only nowrap">
                  <Fragment>
                    <Ago at={one.auditing_data.created_at} />
                    <div className="under">{duration(milliseconds(one.total_duration))}</div>
                  </Fragment>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </History>
  );
}
