import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { detailsOf, servicesIn } from '../../data/queries.ts';
import type { Reference } from '../../data/reference-graph.ts';
import { referencesIn, referrersOf } from '../../data/references.ts';
import { ErrorNote, Face, FailedFace, LoadingRows } from '../../parts/face.tsx';
import { Graph, type GraphEdge, type GraphStage } from '../../parts/graph.tsx';
import { Box, Cut, CutAll } from '../../parts/page.tsx';
import { kindName, plural, servicesOf, servicesOfStage, type EnvironmentDetails, type Service } from '../../words.ts';
import { NoServices } from '../no-services.tsx';

/** More nodes than that are no picture, but a search: the table is better at it. */
const largestGraph = 200;

/** The stages of an environment as columns, its services as nodes, and which of them refer to which. */
export function GraphPage(): ReactNode {
  const { environmentId = '' } = useParams({ strict: false });
  const details = useQuery(detailsOf(environmentId));
  const services = useQuery(servicesIn(environmentId));
  const error = details.data === undefined ? details.error : services.data === undefined ? services.error : null;
  if (error !== null) return <FailedFace error={error} />;
  if (details.data === undefined || services.data === undefined) {
    return (
      <GraphBox>
        <LoadingRows rows={6} />
      </GraphBox>
    );
  }
  const count = services.data.length;
  if (count === 0) return <NoServices environmentId={environmentId} />;
  if (count > largestGraph) {
    return (
      <div className="box">
        <Face
          icon="box"
          title="Too many services for a graph"
          action={
            <Link className="button main" to="/environment/$environmentId" params={{ environmentId }}>
              Show the table
            </Link>
          }
        >
          This environment has {plural(count, 'service')}; a graph of more than {largestGraph} could not be read. The table has
          all of them, by the same stages.
        </Face>
      </div>
    );
  }
  return <GraphOf environmentId={environmentId} details={details.data} services={services.data} />;
}

function GraphBox({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <section className="box" aria-label="Graph">
      <header>
        <h2>Stages and references</h2>
        <span className="more wide-hint">Arrow keys move, Enter opens</span>
      </header>
      {children}
    </section>
  );
}

interface GraphOfProps {
  readonly environmentId: string;
  readonly details: EnvironmentDetails;
  readonly services: readonly Service[];
}

const none: readonly Reference[] = [];

function GraphOf({ environmentId, details, services }: GraphOfProps): ReactNode {
  const navigate = useNavigate();
  const read = useQuery(referencesIn(environmentId, services, referrersOf(services, servicesOf(details))));
  const references = read.data ?? none;
  const stages = useMemo(() => stagesOf(details, services), [details, services]);
  const edges = useMemo(
    () => references.flatMap(({ from, to }): GraphEdge[] => (from === null ? [] : [{ from, to }])),
    [references],
  );
  return (
    <>
      {read.error !== null && <ErrorNote error={read.error} />}
      <GraphBox>
        <Graph
          label="Stages, in the order of deployment"
          stages={stages}
          edges={edges}
          onOpen={(address) => void navigate({ to: address })}
        />
      </GraphBox>
      <References references={references} services={services} isRead={read.data !== undefined} hasFailed={read.error !== null} />
    </>
  );
}

function stagesOf(details: EnvironmentDetails, services: readonly Service[]): GraphStage[] {
  const byId = new Map(services.map((service) => [service.id, service]));
  return details.stages.flatMap((stage) => {
    const nodes = servicesOfStage(stage).flatMap((status) => {
      const service = byId.get(status.id);
      if (service === undefined) return [];
      const { id, name, service_type: icon } = service;
      return [
        { id, name, icon, status, kind: kindName(service), address: `/environment/${service.environment.id}/service/${id}` },
      ];
    });
    return nodes.length === 0 ? [] : [{ id: stage.stage.id, name: stage.stage.name, nodes }];
  });
}

interface ReferencesProps {
  readonly references: readonly Reference[];
  readonly services: readonly Service[];
  readonly isRead: boolean;
  readonly hasFailed: boolean;
}

/** The arrows in words, with the variables that make them. */
function References({ references, services, isRead, hasFailed }: ReferencesProps): ReactNode {
  const names = useMemo(() => new Map(services.map(({ id, name }) => [id, name])), [services]);
  return (
    <Box title="References" more={isRead ? references.length : ''}>
      {!isRead && (
        <div className="quiet-line">{hasFailed ? 'They could not be read.' : 'Reading the variables of the services'}</div>
      )}
      {isRead && references.length === 0 && <div className="quiet-line">No variable of a service refers to another service.</div>}
      {references.length > 0 && (
        <table className="list references">
          <thead>
            <tr>
              <th className="w-[28%]">Service</th>
              <th className="w-[28%]">Refers to</th>
              <th>By variables</th>
            </tr>
          </thead>
          <tbody>
            {references.map(({ from, to, keys }) => (
              <tr key={`${from} ${to}`}>
                <td>{from === null ? 'All services' : <Cut text={names.get(from) ?? ''} />}</td>
                <td>
                  <Cut text={names.get(to) ?? ''} />
                </td>
                <td className="broad-cell mono">
                  <CutAll texts={keys} between=", " />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div className="quiet-line ruled">
        An arrow leads to what a service refers to: by an alias, by <code>{'{{KEY}}'}</code>, or by its address in a value. Values
        of secrets are never shown, so references in them are not known here.
      </div>
    </Box>
  );
}
