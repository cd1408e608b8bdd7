import type { ReleaseConfig } from '@davit/engine/port';
import { toEvents, type AutoscalingSpec } from './autoscaling.ts';
import { settingDefault, type AdvancedSettingsSpec } from './advanced-settings.ts';

/** The members of a spec that determine its scaling. */
interface ScaledSpec {
  readonly min_running_instances: number;
  readonly max_running_instances: number;
  readonly autoscaling?: AutoscalingSpec;
}

/**
 * Returns the release's scaling: the number of instances follows their usage or events, between two limits. Returns an
 * empty object if there is nothing to scale, so that the hash does not change. With a minimum of 0 and no events no
 * instance runs, whatever the maximum.
 */
export function toScaling(spec: ScaledSpec, settings: AdvancedSettingsSpec): Pick<ReleaseConfig, 'scaling'> {
  const { min_running_instances: least, max_running_instances: most } = spec;
  const events = toEvents(spec.autoscaling);
  if (events === null && (least === 0 || (most !== -1 && most <= least))) return {};
  const percent = (name: string): number | null => {
    const value = settings[name] ?? settingDefault('CONTAINER', name);
    return typeof value === 'number' ? value : null;
  };
  return {
    scaling: {
      most: most === -1 ? null : most,
      cpuPercent: percent('hpa.cpu.average_utilization_percent') ?? 60,
      memoryPercent: percent('hpa.memory.average_utilization_percent'),
      ...(events !== null && { events }),
    },
  };
}
