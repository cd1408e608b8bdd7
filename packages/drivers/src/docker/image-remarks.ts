import type { Workload } from '../workload.ts';
import type { ImageConfig } from './image-config.ts';

/**
 * Returns remarks for the deployment log about settings of an image that instances do not honor as its author may
 * expect. Pure.
 */
export function imageRemarks(image: ImageConfig, { volumes, readiness }: Pick<Workload, 'volumes' | 'readiness'>): string[] {
  const remarks: string[] = [];
  const kept = new Set(volumes.map(({ mountPath }) => plain(mountPath)));
  const lost = Object.keys(image.Volumes ?? {}).filter((path) => !kept.has(plain(path)));
  if (lost.length > 0) {
    remarks.push(
      `The image declares VOLUME ${lost.join(' ')}: data written there is lost with each instance, and so with each deployment. ` +
        `To keep it, add a storage with this mount_point.`,
    );
  }
  const [kind = 'NONE', ...command] = image.Healthcheck?.Test ?? [];
  if (kind !== 'NONE' && readiness === null) {
    remarks.push(
      `The HEALTHCHECK of the image (${command.join(' ')}) does not decide whether an instance is ready: its ports do. ` +
        `To have it decide, set it as the command of healthchecks.readiness_probe (type exec).`,
    );
  }
  return remarks;
}

function plain(path: string): string {
  return path.replace(/\/+$/, '');
}
