import type { Workload } from '../workload.ts';
import { call } from './engine-api.ts';
import type { Scope } from './instances.ts';

interface ImageConfig {
  readonly Config?: {
    readonly Volumes?: Readonly<Record<string, object>> | null;
    readonly Healthcheck?: { readonly Test?: readonly string[] | null } | null;
  } | null;
}

/**
 * Returns remarks for the deployment log about settings of an image that instances do not honor as its author may
 * expect.
 */
export async function imageRemarks(scope: Scope, workload: Workload, signal: AbortSignal): Promise<string[]> {
  const path = `/images/${workload.image}/json`;
  const answer = await call<ImageConfig>(scope.docker, { method: 'GET', path, signal, accept: [404, 500] });
  return answer.status >= 300 ? [] : remarksOf(answer.body, workload);
}

/** See `imageRemarks`. Pure. */
export function remarksOf({ Config }: ImageConfig, { volumes, readiness }: Pick<Workload, 'volumes' | 'readiness'>): string[] {
  const remarks: string[] = [];
  const kept = new Set(volumes.map(({ mountPath }) => plain(mountPath)));
  const lost = Object.keys(Config?.Volumes ?? {}).filter((path) => !kept.has(plain(path)));
  if (lost.length > 0) {
    remarks.push(
      `The image declares VOLUME ${lost.join(' ')}: data written there is lost with each instance, and so with each deployment. ` +
        `To keep it, add a storage with this mount_point.`,
    );
  }
  const [kind = 'NONE', ...command] = Config?.Healthcheck?.Test ?? [];
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
