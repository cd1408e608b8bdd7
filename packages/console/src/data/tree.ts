import { useQuery } from '@tanstack/react-query';
import type { CallAnswer } from '@davit/client';
import { createContext, useMemo } from 'react';
import { isUnderWay, type ServiceType, type StateWord, type States } from '../words.ts';
import { overviewOf, projectsOf } from './queries.ts';

type Overview = CallAnswer<'getOrganizationOverview'>['results'];

/** A service as the tree has it. */
export interface ServiceNode extends States {
  readonly id: string;
  readonly name: string;
  readonly type: ServiceType;
  readonly isOutOfDate: boolean;
  readonly instances: number | null;
  readonly wanted: number | null;
  readonly deployedAt: string | null;
  /** The public addresses of what is deployed. */
  readonly addresses: readonly string[];
  /** Why it is failing, the worst first. */
  readonly problems: Overview[number]['services'][number]['problems'];
}

export interface EnvironmentNode {
  readonly id: string;
  readonly name: string;
  readonly mode: CallAnswer<'getEnvironment'>['mode'];
  readonly clusterName: string;
  readonly projectName: string;
  readonly state: StateWord;
  /** When the last deployment ended, or began if it is under way; null: none yet. */
  readonly deployedAt: string | null;
  readonly deployedBy: string | null;
  /** In the order of deployment. */
  readonly services: readonly ServiceNode[];
}

export interface ProjectNode {
  readonly id: string;
  readonly name: string;
  readonly environments: readonly EnvironmentNode[];
}

export interface Tree {
  readonly projects: readonly ProjectNode[];
  readonly isPending: boolean;
  readonly error: Error | null;
}

/** The tree of the organization that the page shows; the frame reads it once for all parts. */
export const TreeContext = createContext<Tree>({ projects: [], isPending: true, error: null });

/**
 * Reads the projects of an organization with their environments and the states of these: two requests, however many
 * services there are.
 */
export function useTree(organizationId: string | null): Tree {
  const isKnown = organizationId !== null;
  const { data: projects, error: noProjects } = useQuery({ ...projectsOf(organizationId ?? ''), enabled: isKnown });
  const { data: overview, error: noOverview } = useQuery({ ...overviewOf(organizationId ?? ''), enabled: isKnown });
  return useMemo(() => {
    const byProject = Map.groupBy(overview ?? [], ({ project }) => project.id);
    return {
      projects: (projects ?? []).map(({ id, name }) => ({
        id,
        name,
        environments: (byProject.get(id) ?? []).map((environment) => nodeOf(environment)),
      })),
      isPending: projects === undefined || overview === undefined,
      error: (projects === undefined ? noProjects : null) ?? (overview === undefined ? noOverview : null),
    };
  }, [projects, overview, noProjects, noOverview]);
}

/** A record that did not change keeps its node, so that only rows that changed are drawn again. */
const nodes = new WeakMap<Overview[number], EnvironmentNode>();

function nodeOf(record: Overview[number]): EnvironmentNode {
  const known = nodes.get(record);
  if (known !== undefined) return known;
  const { id, name, mode, state, last_deployment: last } = record;
  const node: EnvironmentNode = {
    id,
    name,
    mode,
    state,
    clusterName: record.cluster.name,
    projectName: record.project.name,
    deployedAt: last?.at ?? null,
    deployedBy: last?.triggered_by ?? null,
    services: record.services.map(serviceNodeOf),
  };
  nodes.set(record, node);
  return node;
}

function serviceNodeOf(record: Overview[number]['services'][number]): ServiceNode {
  const { id, name, state, running_status, last_deployment_at: at } = record;
  // The failure of the last deployment no longer counts while the next one is under way.
  const isFormer = ({ severity, since }: ServiceNode['problems'][number]): boolean =>
    isUnderWay(state) && severity === 'ERROR' && since === at;
  const problems = record.problems.filter((problem) => !isFormer(problem));
  return {
    id,
    name,
    state,
    running_status,
    conditions: problems,
    problems,
    type: record.service_type,
    isOutOfDate: record.deployment_status === 'OUT_OF_DATE',
    instances: record.running_instances,
    wanted: record.wanted_instances,
    deployedAt: at,
    addresses: record.addresses,
  };
}
