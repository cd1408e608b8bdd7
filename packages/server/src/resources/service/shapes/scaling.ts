import type { ReleaseConfig } from '@davit/engine/port';
import type { ProcessParts } from '../kinds/process.ts';
import { settingDefault, type AdvancedSettingsSpec } from './advanced-settings.ts';

type Bounds = Pick<ProcessParts, 'min_running_instances' | 'max_running_instances'>;

/** Whether the number of instances is to follow their use. With a minimum of 0 none runs, whatever the maximum. */
export function scales({ min_running_instances: least, max_running_instances: most }: Bounds): boolean {
  return least > 0 && (most === -1 || most > least);
}

/**
 * Why instances cannot be added to a service of this form; null: they can. A volume has one writer, and a port of the machine one
 * owner.
 */
export function scalingObstacle({ storage, ports }: Pick<ProcessParts, 'storage' | 'ports'>): string | null {
  if (storage.length > 0) return 'the service has storage, and a volume has one writer';
  const udp = ports.find((port) => port.protocol === 'UDP' && port.publicly_accessible);
  return udp === undefined ? null : `the UDP port ${udp.internal_port} is public, and a port of the machine has one owner`;
}

/** What a release says of it; nothing where there is nothing to scale, so that its hash is what it was. */
export function toScaling(spec: ProcessParts, settings: AdvancedSettingsSpec): Pick<ReleaseConfig, 'scaling'> {
  if (!scales(spec) || scalingObstacle(spec) !== null) return {};
  const percent = (name: string): number | null => {
    const value = settings[name] ?? settingDefault('CONTAINER', name);
    return typeof value === 'number' ? value : null;
  };
  const most = spec.max_running_instances;
  return {
    scaling: {
      most: most === -1 ? null : most,
      cpuPercent: percent('hpa.cpu.average_utilization_percent') ?? 60,
      memoryPercent: percent('hpa.memory.average_utilization_percent'),
    },
  };
}
