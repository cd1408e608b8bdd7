import type { Action, HelmReleaseSource, ReleaseConfig } from '../../model.ts';
import type { Steps, StepsInput } from '../../plan/plan.ts';

export type ChartStep = 'obtain-chart' | 'install' | 'settle-chart' | 'diff' | 'halt-chart' | 'uninstall' | 'unroute' | 'remove';

/** Returns the source of a chart; null if the release is no chart. */
export function chartSourceOf({ source }: Pick<ReleaseConfig, 'source'>): HelmReleaseSource | null {
  return source.type === 'HELM' ? source : null;
}

/** Nothing is built, and the cluster restarts what runs. */
export function planChart(action: Action, { config }: StepsInput): Steps<ChartStep> {
  switch (action) {
    case 'DEPLOY': {
      const isDiff = config !== null && chartSourceOf(config)?.action === 'DIFF';
      return { build: [], deploy: isDiff ? ['obtain-chart', 'diff'] : ['obtain-chart', 'install', 'settle-chart'] };
    }
    case 'STOP':
      return { build: [], deploy: ['unroute', 'halt-chart'] };
    case 'DELETE':
    case 'UNINSTALL':
      return { build: [], deploy: ['unroute', 'uninstall', 'remove'] };
    default:
      return { build: [], deploy: [] };
  }
}
