import type { ReleaseConfig } from '../model.ts';
import { chartKind, chartSourceOf } from './chart.ts';
import { jobKind } from './job.ts';
import type { Kind } from './kind.ts';
import { processKind } from './process.ts';
import { terraformKind, terraformSourceOf } from './terraform.ts';

export type { Kind, Refusal, Steps, StepsInput } from './kind.ts';

/** Kinds that follow from the type of a service alone, also for a service that was never deployed. */
const byServiceType: Readonly<Record<string, Kind>> = { HELM: chartKind, TERRAFORM: terraformKind };

export function kindOf(config: Pick<ReleaseConfig, 'source' | 'job'>): Kind {
  if (config.job !== undefined) return jobKind;
  if (chartSourceOf(config) !== null) return chartKind;
  return terraformSourceOf(config) === null ? processKind : terraformKind;
}

/** Returns the kind of a service from its type, as the API has it, and the configuration to run. */
export function kindOfService(serviceType: string | null | undefined, config: ReleaseConfig | null = null): Kind {
  const byType = byServiceType[serviceType ?? ''];
  if (byType !== undefined) return byType;
  return config === null ? processKind : kindOf(config);
}
