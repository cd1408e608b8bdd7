import type { HelmReleaseSource, ReleaseConfig } from '../model.ts';
import type { Kind } from './kind.ts';

/** Returns the source of a chart; null if the release is no chart. */
export function chartSourceOf({ source }: Pick<ReleaseConfig, 'source'>): HelmReleaseSource | null {
  return source.type === 'HELM' ? source : null;
}

/** A Helm chart. Nothing is built, and the cluster restarts what runs. */
export const chartKind: Kind = {
  name: 'CHART',
  steps(action, { config }) {
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
  },
  refusals: {
    RESTART: {
      reason: 'is a Helm chart, whose parts are not restarted as a whole. Leave it out, or deploy it.',
      isLeftOut: false,
    },
  },
  hasLastingInstances: false,
  hasOwnContainers: false,
  isServing: true,
  hasImage: false,
  isRedeployedWithoutImage: true,
  isExecuted: false,
  runsWhenTakenDown: false,
  variableWord: 'APPLICATION',
  credentials(config) {
    const source = chartSourceOf(config);
    const tokens = [source?.git?.gitTokenId, source?.values.file?.git?.git_repository.git_token_id];
    return { registry: null, gitTokens: tokens.flatMap((token) => token ?? []) };
  },
  values: () => [],
};
