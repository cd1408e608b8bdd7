import { remove, unroute } from '../../steps/removal.ts';
import type { Kind } from '../kind.ts';
import { keepChart } from './keep.ts';
import { leaveRelease } from './leave.ts';
import { chartTarget } from './ref.ts';
import { chartSourceOf, planChart, type ChartStep } from './plan.ts';
import { diff, haltChart, install, obtainChart, settleChart, uninstall } from './steps.ts';

/** A Helm chart. */
export const chartKind: Kind<ChartStep> = {
  name: 'CHART',
  serviceTypes: ['HELM'],
  owns: (config) => config.job === undefined && chartSourceOf(config) !== null,
  steps: {
    'obtain-chart': obtainChart,
    install,
    'settle-chart': settleChart,
    diff,
    'halt-chart': haltChart,
    uninstall,
    unroute,
    remove,
  },
  plan: planChart,
  refusals: {
    RESTART: {
      reason: 'is a Helm chart, which cannot be restarted as a whole. Leave it out, or deploy it.',
      isLeftOut: false,
    },
  },
  keep: keepChart,
  leave: leaveRelease,
  routeTarget: chartTarget,
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
