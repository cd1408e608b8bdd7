import { AppError } from '@davit/base';
import { createVolumeStore, openDockerEngine, type StoredVolume, type VolumeStore } from '@davit/drivers';
import type { Configuration } from '../../configuration.ts';

const withinMilliseconds = 30_000;

export interface OpenVolumes {
  readonly store: VolumeStore;
  readonly all: readonly StoredVolume[];
}

/** Returns the container engine's volumes of an installation. ENGINE_UNREACHABLE; NOT_SUPPORTED on Podman. */
export async function volumesOf(config: Configuration, installation: string): Promise<OpenVolumes> {
  const signal = AbortSignal.timeout(withinMilliseconds);
  const { docker, engine } = await openDockerEngine({
    stateFolder: config.stateFolder,
    signal,
    ...(config.dockerHost === null ? {} : { socket: config.dockerHost }),
  });
  if (engine === 'podman') {
    throw new AppError({
      code: 'NOT_SUPPORTED',
      message:
        'the volumes of Podman cannot be moved: it exports their files without the owners. Move the rest without --with-volumes, and the volumes with podman volume export and import.',
    });
  }
  const store = createVolumeStore(docker);
  return { store, all: await store.list(installation, signal) };
}

/** Returns the volumes for reading. VOLUME_IN_USE: a running container uses one of them. */
export async function openVolumes(config: Configuration, installation: string): Promise<OpenVolumes> {
  const volumes = await volumesOf(config, installation);
  const users: string[] = [];
  for (const { name } of volumes.all) users.push(...(await volumes.store.users(name, AbortSignal.timeout(withinMilliseconds))));
  if (users.length === 0) return volumes;
  throw new AppError({
    code: 'VOLUME_IN_USE',
    message: `these containers run and write to their volumes: ${[...new Set(users)].join(', ')}. Stop their services, then export.`,
  });
}
