import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo, use, type ReactNode } from 'react';
import { commandsOf } from '../command-line.ts';
import { detailsOf } from '../data/queries.ts';
import { useRefusal } from '../data/rights.ts';
import { TreeContext, type EnvironmentNode, type ServiceNode, type Tree } from '../data/tree.ts';
import { usePageLocation } from '../frame/page-location.ts';
import { ButtonLink } from '../parts/button-link.tsx';
import { Commands } from '../parts/commands.tsx';
import { Face, FailedFace, LoadingRows } from '../parts/face.tsx';
import { Ago, Box, Cut, CutAll, Head } from '../parts/page.tsx';
import { PlainLink } from '../parts/plain-link.tsx';
import { State, StateOf, Strip } from '../parts/state.tsx';
import { withoutTurns } from '../text.ts';
import { isUnderWay, plural, sentence, servicesOf, shapeOf, shapeOfService, type ServiceStatus } from '../words.ts';

export function Overview(): ReactNode {
  const tree = use(TreeContext);
  const environments = tree.projects.flatMap((project) => project.environments);
  if (tree.error !== null) return <FailedFace error={tree.error} isPage />;
  const services = environments.reduce((sum, one) => sum + one.services.length, 0);
  const clusters = new Set(environments.map(({ clusterName }) => clusterName)).size;
  if (!tree.isPending && tree.projects.length === 0) return <NoProject />;
  const facts = tree.isPending
    ? 'Reading what there is'
    : environments.length === 0
      ? 'No environment yet'
      : `${plural(environments.length, 'environment')}, ${plural(services, 'service')} on ${plural(clusters, 'cluster')}`;
  return (
    <>
      <Head title="Overview" facts={<span>{facts}</span>} actions={<NewProject />} />
      <div className="pair">
        <NeedsYou environments={environments} isPending={tree.isPending} />
        <HappeningNow environments={environments} isPending={tree.isPending} />
      </div>
      <Environments tree={tree} />
    </>
  );
}

/** The overview of an organization in which nothing was begun: two ways to begin, and no lists of nothing. */
function NoProject(): ReactNode {
  return (
    <>
      <Head title="Overview" facts={<span>Nothing is here yet</span>} />
      <div className="box">
        <Face icon="empty" title="No project yet" action={<NewProject isMain />}>
          A project has environments, and they have the services. Run <code>./up</code> in the checkout for an example.
        </Face>
      </div>
      <Commands title="Or from a folder on your machine" lines={commandsOf(location.origin)}>
        The command line makes project and environment, and deploys the folder. It needs Node.js 22.7 or newer.
      </Commands>
    </>
  );
}

/** Leads to the page of a new project; says why not, if the session may create none. */
function NewProject({ isMain = false }: { readonly isMain?: boolean }): ReactNode {
  const { organizationId } = usePageLocation();
  const refusal = useRefusal('createProject', { organizationId: organizationId ?? '' });
  if (organizationId === null) return null;
  return (
    <ButtonLink to={`/organization/${organizationId}/new`} refusal={refusal} isMain={isMain}>
      New project
    </ButtonLink>
  );
}

interface Trouble {
  readonly environment: EnvironmentNode;
  readonly service: ServiceNode;
  readonly problem: ServiceNode['problems'][number];
}

function troublesOf(environment: EnvironmentNode): Trouble[] {
  return environment.services.flatMap((service) => service.problems.map((problem) => ({ environment, service, problem })));
}

const largestList = 8;

interface ListProps {
  readonly environments: readonly EnvironmentNode[];
  readonly isPending: boolean;
}

function NeedsYou({ environments, isPending }: ListProps): ReactNode {
  const all = environments.flatMap(troublesOf);
  const troubles = all.toSorted((one, other) => one.problem.severity.localeCompare(other.problem.severity));
  const shown = troubles.slice(0, largestList);
  return (
    <Box title="Needs you" more={isPending ? '' : troubles.length}>
      {isPending && <div className="quiet-line">Reading the states</div>}
      {!isPending && troubles.length === 0 && <div className="quiet-line">Nothing: no service fails.</div>}
      {shown.map(({ environment, service, problem: { severity, message, hint, since } }) => (
        <Link
          key={`${service.id} ${message}`}
          className="item"
          to="/environment/$environmentId/service/$serviceId"
          params={{ environmentId: environment.id, serviceId: service.id }}
        >
          <State shape={severity === 'ERROR' ? 'bad' : 'warn'} />
          <b className="cut">
            <CutAll texts={[environment.projectName, environment.name, service.name]} between=" / " />
          </b>
          <span className="age">{since !== null && <Ago at={since} />}</span>
          <span className="under">
            <bdi>{withoutTurns(message)}</bdi> {hint}
          </span>
        </Link>
      ))}
      {troubles.length > shown.length && <div className="quiet-line">and {troubles.length - shown.length} more</div>}
    </Box>
  );
}

function HappeningNow({ environments, isPending }: ListProps): ReactNode {
  const running = environments.filter(({ state }) => isUnderWay(state));
  return (
    <Box title="Happening now" more={isPending ? '' : running.length}>
      {running.length === 0 && (
        <div className="quiet-line">{isPending ? 'Reading the states' : 'Nothing is being deployed.'}</div>
      )}
      {running.map((environment) => (
        <Deploying key={environment.id} environment={environment} />
      ))}
    </Box>
  );
}

function Deploying({ environment }: { readonly environment: EnvironmentNode }): ReactNode {
  const { id, name, projectName, state, deployedBy: by, deployedAt: at } = environment;
  // Only the details say which services are part of the deployment.
  const details = useQuery(detailsOf(id)).data;
  const all = details === undefined ? [] : servicesOf(details);
  const parts = all.filter((one) => one.is_part_last_deployment || isUnderWay(one.state));
  const done = parts.filter((one) => !isUnderWay(one.state)).length;
  return (
    <Link className="item" to="/environment/$environmentId" params={{ environmentId: id }}>
      <State shape={shapeOf(state)} />
      <b className="cut">
        <CutAll texts={[projectName, name]} between=" / " />
      </b>
      <span className="age">{at !== null && <Ago at={at} />}</span>
      <span className="under">
        {sentence(state)}
        {details !== undefined && ` · ${done} of ${plural(parts.length, 'service')} done`}
        {by !== null && ` · ${by}`}
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
  return (
    <div className="box">
      {tree.isPending ? (
        <LoadingRows />
      ) : (
        <table className="list">
          <thead>
            <tr>
              <th className="w-[24%] max-[1000px]:w-[32%]">Environment</th>
              <th className="w-[20%] max-[1000px]:w-[24%]">State</th>
              <th className="w-[30%] max-[1000px]:w-[26%]">Services</th>
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
                <EnvironmentRow key={environment.id} node={environment} />
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
const EnvironmentRow = memo(function EnvironmentRow({ node }: { readonly node: EnvironmentNode }): ReactNode {
  const { id, name, mode, clusterName, state, services, deployedAt, deployedBy } = node;
  const failing = services.filter((one) => shapeOfService(one) === 'bad').length;
  const changed = services.filter((one) => one.isOutOfDate && shapeOf(one.state) !== 'bad').length;
  return (
    <tr>
      <td>
        <div className="name">
          <PlainLink to={`/environment/${id}`} className="min-w-0">
            <Cut text={name} />
          </PlainLink>
          {changed > 0 && <span className="chip change">{plural(changed, 'change')}</span>}
        </div>
        <div className="under">
          <Cut text={`${mode} · ${clusterName}`} />
        </div>
      </td>
      <td>
        <StateOf word={state} />
        {failing > 0 && <div className="under pl-[19px]">{failing} failing</div>}
      </td>
      <td>{services.length === 0 ? <span className="text-muted">No services</span> : <Strip services={services} />}</td>
      <td className="wide-only">
        {deployedAt === null ? (
          <span className="text-muted">Never</span>
        ) : (
          <>
            <Ago at={deployedAt} />
            <div className="under">
              <Cut text={deployedBy ?? ''} />
            </div>
          </>
        )}
      </td>
    </tr>
  );
});
