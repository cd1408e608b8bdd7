import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, memo, use, type ReactNode } from 'react';
import { servicesIn } from '../data/queries.ts';
import { TreeContext, type EnvironmentNode, type Tree } from '../data/tree.ts';
import { usePlace } from '../frame/place.ts';
import { Face, FailedFace, LoadingRows } from '../parts/face.tsx';
import { Ago, Box, Cut, Head } from '../parts/page.tsx';
import { State, StateOf, Strip } from '../parts/state.tsx';
import { isUnderWay, plural, sentence, servicesOf, shapeOf, shapeOfService, type ServiceStatus } from '../words.ts';

export function Overview(): ReactNode {
  const tree = use(TreeContext);
  const environments = tree.projects.flatMap((project) => project.environments);
  if (tree.error !== null) return <FailedFace error={tree.error} isPage />;
  const services = environments.flatMap(({ details }) => (details === null ? [] : servicesOf(details)));
  const clusters = new Set(environments.map(({ clusterName }) => clusterName)).size;
  const facts = tree.isComplete
    ? `${plural(environments.length, 'environment')}, ${plural(services.length, 'service')} on ${plural(clusters, 'cluster')}`
    : 'Reading what there is';
  return (
    <>
      <Head title="Overview" facts={<span>{facts}</span>} actions={<NewProject />} />
      <div className="pair">
        <NeedsYou environments={environments} isComplete={tree.isComplete} />
        <HappeningNow environments={environments} isComplete={tree.isComplete} />
      </div>
      <Environments tree={tree} />
    </>
  );
}

function NewProject(): ReactNode {
  const { organizationId } = usePlace();
  if (organizationId === null) return null;
  return (
    <Link className="button" to="/organization/$organizationId/new" params={{ organizationId }}>
      New project
    </Link>
  );
}

interface Trouble {
  readonly environment: EnvironmentNode;
  readonly status: ServiceStatus;
  readonly shape: 'bad' | 'warn';
  readonly message: string;
  readonly at: string | undefined;
}

function troublesOf(environment: EnvironmentNode): Trouble[] {
  if (environment.details === null) return [];
  return servicesOf(environment.details).flatMap((status): Trouble[] => {
    const { failure, conditions = [], last_deployment_date: at } = status;
    const found = conditions.map(({ severity, message, hint, since }) => ({
      environment,
      status,
      shape: severity === 'ERROR' ? ('bad' as const) : ('warn' as const),
      message: `${message} ${hint}`,
      at: since,
    }));
    if (failure === null || failure === undefined || isUnderWay(status.state)) return found;
    return [{ environment, status, shape: 'bad', message: `${failure.message} ${failure.hint}`, at }, ...found];
  });
}

const largestList = 8;

interface ListProps {
  readonly environments: readonly EnvironmentNode[];
  readonly isComplete: boolean;
}

function NeedsYou({ environments, isComplete }: ListProps): ReactNode {
  const troubles = environments.flatMap(troublesOf).toSorted((one, other) => one.shape.localeCompare(other.shape));
  const shown = troubles.slice(0, largestList);
  const ids = [...new Set(shown.map(({ environment }) => environment.id))];
  const lists = useQueries({ queries: ids.map((id) => servicesIn(id)) });
  const names = new Map(lists.flatMap(({ data = [] }) => data.map(({ id, name }) => [id, name])));
  return (
    <Box title="Needs you" more={isComplete ? troubles.length : ''}>
      {!isComplete && troubles.length === 0 && <div className="quiet-line">Reading the states</div>}
      {isComplete && troubles.length === 0 && <div className="quiet-line">Nothing: no service fails.</div>}
      {shown.map(({ environment, status, shape, message, at }) => (
        <Link
          key={`${status.id} ${message}`}
          className="item"
          to="/environment/$environmentId/service/$serviceId"
          params={{ environmentId: environment.id, serviceId: status.id }}
        >
          <State shape={shape} />
          <b className="cut">
            <Cut text={`${environment.projectName} / ${environment.name} / ${names.get(status.id) ?? '…'}`} />
          </b>
          <span className="age">{at !== undefined && <Ago at={at} />}</span>
          <span className="under">{message}</span>
        </Link>
      ))}
      {troubles.length > shown.length && <div className="quiet-line">and {troubles.length - shown.length} more</div>}
    </Box>
  );
}

function HappeningNow({ environments, isComplete }: ListProps): ReactNode {
  const running = environments.filter(({ details }) => details !== null && isUnderWay(details.environment.state));
  return (
    <Box title="Happening now" more={isComplete ? running.length : ''}>
      {running.length === 0 && (
        <div className="quiet-line">{isComplete ? 'Nothing is being deployed.' : 'Reading the states'}</div>
      )}
      {running.map((environment) => (
        <Deploying key={environment.id} environment={environment} />
      ))}
    </Box>
  );
}

function Deploying({ environment: { id, name, projectName, details } }: { readonly environment: EnvironmentNode }): ReactNode {
  if (details === null) return null;
  const { state, triggered_by: by, last_deployment_date: at } = details.environment;
  const parts = servicesOf(details).filter((one) => one.is_part_last_deployment || isUnderWay(one.state));
  const done = parts.filter((one) => !isUnderWay(one.state)).length;
  return (
    <Link className="item" to="/environment/$environmentId" params={{ environmentId: id }}>
      <State shape={shapeOf(state)} />
      <b className="cut">
        <Cut text={`${projectName} / ${name}`} />
      </b>
      <span className="age">{at !== null && at !== undefined && <Ago at={at} />}</span>
      <span className="under">
        {sentence(state)}
        {` · ${done} of ${plural(parts.length, 'service')} done`}
        {by !== null && by !== undefined && ` · ${by}`}
      </span>
      <Progress services={parts} />
    </Link>
  );
}

/** One segment for each service of the deployment. */
export function Progress({ services }: { readonly services: readonly ServiceStatus[] }): ReactNode {
  const classes = { ok: 'done', go: 'now', wait: '', warn: 'done', bad: 'bad', off: 'done' } as const;
  return (
    <span className="progress" aria-hidden="true">
      {services.slice(0, 40).map(({ id, state }) => (
        <i key={id} className={classes[shapeOf(state)]} />
      ))}
    </span>
  );
}

function Environments({ tree }: { readonly tree: Tree }): ReactNode {
  const isEmpty = !tree.isPending && tree.projects.length === 0;
  if (isEmpty) {
    return (
      <div className="box">
        <Face icon="empty" title="No project yet" action={<NewProject />}>
          A project has environments, and they have the services. Run <code>./up</code> in the checkout for an example.
        </Face>
      </div>
    );
  }
  return (
    <div className="box">
      {tree.isPending ? (
        <LoadingRows />
      ) : (
        <table className="list">
          <thead>
            <tr>
              <th className="w-[24%]">Environment</th>
              <th className="w-[20%]">State</th>
              <th className="w-[30%]">Services</th>
              <th>Deployed</th>
            </tr>
          </thead>
          {tree.projects.map((project) => (
            <tbody key={project.id}>
              <tr className="stage">
                <th colSpan={4} scope="rowgroup">
                  <Link to="/project/$projectId" params={{ projectId: project.id }}>
                    <Cut text={project.name} />
                  </Link>
                </th>
              </tr>
              {project.environments.map((environment) => (
                <EnvironmentRow key={environment.id} {...environment} />
              ))}
              {project.environments.length === 0 && (
                <tr>
                  <td colSpan={4} className="text-muted">
                    No environment yet
                  </td>
                </tr>
              )}
            </tbody>
          ))}
        </table>
      )}
    </div>
  );
}

/** A row is drawn again only when something in it changed: there may be hundreds. */
const EnvironmentRow = memo(function EnvironmentRow({ id, name, mode, clusterName, details }: EnvironmentNode): ReactNode {
  const services = details === null ? [] : servicesOf(details);
  const failing = services.filter((one) => shapeOfService(one) === 'bad').length;
  const changed = services.filter(
    (one) => one.service_deployment_status === 'OUT_OF_DATE' && shapeOf(one.state) !== 'bad',
  ).length;
  const status = details?.environment;
  return (
    <tr>
      <td>
        <div className="name">
          <Link to="/environment/$environmentId" params={{ environmentId: id }} className="min-w-0">
            <Cut text={name} />
          </Link>
          {changed > 0 && <span className="chip change">{plural(changed, 'change')}</span>}
        </div>
        <div className="under">
          <Cut text={`${mode} · ${clusterName}`} />
        </div>
      </td>
      <td>
        {status === undefined && <span className="bone w-24" />}
        {status !== undefined && <StateOf word={status.state} />}
        {failing > 0 && <div className="under pl-[19px]">{failing} failing</div>}
      </td>
      <td>
        {services.length === 0 ? (
          <span className="text-muted">{details === null ? '' : 'No services'}</span>
        ) : (
          <Strip services={services} />
        )}
      </td>
      <td className="wide-only">
        {status?.last_deployment_date === undefined || status.last_deployment_date === null ? (
          <span className="text-muted">{details === null ? '' : 'Never'}</span>
        ) : (
          <Fragment>
            <Ago at={status.last_deployment_date} />
            <div className="under">
              <Cut text={status.triggered_by ?? ''} />
            </div>
          </Fragment>
        )}
      </td>
    </tr>
  );
});
