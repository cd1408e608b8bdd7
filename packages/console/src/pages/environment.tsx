import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useParams } from '@tanstack/react-router';
import type { CallAnswer } from '@davit/client';
import { Fragment, type ReactNode } from 'react';
import { environmentOf, historyOf } from '../data/queries.ts';
import { useDetails, useEnvironmentNode } from '../data/service-rows.ts';
import { FailedFace } from '../parts/face.tsx';
import { DeploymentName, History } from '../parts/history.tsx';
import { Ago, Cut, Head } from '../parts/page.tsx';
import { State, StateOf } from '../parts/state.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { duration, milliseconds } from '../time.ts';
import { plural, servicesOf, shapeOfService, type StateWord } from '../words.ts';
import { EnvironmentActions } from './environment-actions.tsx';

function useEnvironmentId(): string {
  return useParams({ strict: false }).environmentId ?? '';
}

export function EnvironmentPage(): ReactNode {
  const environmentId = useEnvironmentId();
  const environment = useQuery(environmentOf(environmentId));
  const details = useDetails(environmentId);
  const node = useEnvironmentNode(environmentId);
  if (environment.data === undefined && environment.error !== null) return <FailedFace error={environment.error} isPage />;
  const services = details.data === undefined ? node?.services : servicesOf(details.data);
  const name = environment.data?.name ?? node?.name ?? ' ';
  const mode = environment.data?.mode ?? node?.mode;
  const clusterName = environment.data?.cluster_name ?? node?.clusterName ?? '';
  return (
    <>
      <Head
        title={name}
        facts={
          mode !== undefined && (
            <Facts
              {...{ mode, clusterName }}
              state={details.data?.environment.state ?? node?.state}
              failing={services?.filter((one) => shapeOfService(one) === 'bad').length ?? 0}
              deployedAt={(details.data === undefined ? node?.deployedAt : details.data.environment.last_deployment_date) ?? null}
              deployedBy={(details.data === undefined ? node?.deployedBy : details.data.environment.triggered_by) ?? null}
            />
          )
        }
        actions={<EnvironmentActions environmentId={environmentId} details={details.data} name={name} />}
      />
      <Tabs label="Environment">
        <Link to="/environment/$environmentId" params={{ environmentId }} activeOptions={{ exact: true }}>
          Services<span className="n">{services?.length}</span>
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
  readonly mode: CallAnswer<'getEnvironment'>['mode'];
  readonly clusterName: string;
  readonly state: StateWord | undefined;
  readonly failing: number;
  readonly deployedAt: string | null;
  readonly deployedBy: string | null;
}

function Facts({ mode, clusterName, state, failing, deployedAt, deployedBy }: FactsProps): ReactNode {
  return (
    <>
      {state !== undefined && <StateOf word={state} />}
      {failing > 0 && <State shape="bad">{plural(failing, 'service')} failing</State>}
      <span className="chip">{mode}</span>
      <span className="cut">on {clusterName}</span>
      {deployedAt !== null && (
        <span className="cut">
          last deployed <Ago at={deployedAt} /> by {deployedBy}
        </span>
      )}
    </>
  );
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
