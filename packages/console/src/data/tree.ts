import { useQueries, useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { CallAnswer } from '@davit/client';
import { createContext } from 'react';
import type { EnvironmentDetails } from '../words.ts';
import { detailsOf, environmentsOf, projectsOf } from './queries.ts';

export interface EnvironmentNode {
  readonly id: string;
  readonly name: string;
  readonly mode: CallAnswer<'getEnvironment'>['mode'];
  readonly clusterName: string;
  readonly projectName: string;
  /** null: not read yet, or not readable. */
  readonly details: EnvironmentDetails | null;
}

export interface ProjectNode {
  readonly id: string;
  readonly name: string;
  readonly environments: readonly EnvironmentNode[];
}

export interface Tree {
  readonly projects: readonly ProjectNode[];
  /** Whether the states of all environments were read. */
  readonly isComplete: boolean;
  readonly isPending: boolean;
  readonly error: Error | null;
}

/** The tree of the organization that the page shows; the frame reads it once for all parts. */
export const TreeContext = createContext<Tree>({ projects: [], isComplete: false, isPending: true, error: null });

/** Reads the projects of an organization with their environments and the states of these. */
export function useTree(organizationId: string | null): Tree {
  const projects = useQuery({ ...projectsOf(organizationId ?? ''), enabled: organizationId !== null });
  const lists = useQueries({ queries: (projects.data ?? []).map(({ id }) => environmentsOf(id)) });
  const environments = lists.flatMap(({ data }) => data ?? []);
  const details = useQueries({ queries: environments.map(({ id }) => detailsOf(id)) });
  const detailsById = new Map(environments.map(({ id }, index) => [id, details[index]?.data ?? null]));
  const isPending = projects.isPending || lists.some((list) => list.isPending);
  return {
    projects: (projects.data ?? []).map((project, index) => ({
      id: project.id,
      name: project.name,
      environments: (lists[index]?.data ?? []).map((one) => ({
        id: one.id,
        name: one.name,
        mode: one.mode,
        clusterName: one.cluster_name ?? '',
        projectName: project.name,
        details: detailsById.get(one.id) ?? null,
      })),
    })),
    isPending,
    isComplete: !isPending && details.every(isRead),
    error: [projects, ...lists].find((query) => query.data === undefined && query.error !== null)?.error ?? null,
  };
}

function isRead({ data, error }: UseQueryResult): boolean {
  return data !== undefined || error !== null;
}
