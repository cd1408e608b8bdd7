import type { ReleaseConfig } from '../model.ts';
import { chartKind, chartSourceOf } from './chart.ts';
import { jobKind } from './job.ts';
import type { Kind } from './kind.ts';
import { processKind } from './process.ts';
import { terraformKind, terraformSourceOf } from './terraform.ts';

export type { Kind, Refusal, Steps, StepsInput } from './kind.ts';

/** Kinds that the type of a service alone decides, also of one that was never deployed. */
const byServiceType: Readonly<Record<string, Kind>> = { HELM: chartKind, TERRAFORM: terraformKind };

/** The kind of a release. */
export function kindOf(config: Pick<ReleaseConfig, 'source' | 'job'>): Kind {
  if (config.job !== undefined) return jobKind;
  if (chartSourceOf(config) !== null) return chartKind;
  return terraformSourceOf(config) === null ? processKind : terraformKind;
}

/** The kind of a service, by what is known of it: its type, as the API has it, and what is to run. */
export function kindOfService(serviceType: string | null | undefined, config: ReleaseConfig | null = null): Kind {
  const byType = byServiceType[serviceType ?? ''];
  if (byType !== undefined) return byType;
  return config === null ? processKind : kindOf(config);
}
