import { existsSync } from 'node:fs';
import type { Workload } from '../workload.ts';
import type { ImageConfig } from './image-config.ts';
import { label } from './labels.ts';
import { findProgram } from './own-podman.ts';

/**
 * Programs that must be process 1 themselves (systemd and s6-overlay refuse to run otherwise), or that do the work of
 * an init process and warn if they are not process 1.
 */
const inits = new Set([
  'init',
  'systemd',
  's6-svscan',
  's6-overlay-suexec',
  'my_init',
  'runit',
  'runit-init',
  'tini',
  'tini-static',
  'dumb-init',
  'catatonit',
  'docker-init',
  'podman-init',
]);

/**
 * Returns whether the process of a workload must be process 1 because it is an init process itself. This is determined
 * by its program, or by the label `davit.own-init` of its image. Pure.
 */
export function hasOwnInit({ Entrypoint, Cmd, Labels }: ImageConfig, workload: Workload): boolean {
  if (Labels?.[label.ownInit] === 'true') return true;
  const entrypoint = workload.entrypoint.length > 0 ? workload.entrypoint : (Entrypoint ?? []);
  // The command of an image only applies together with the image's own entrypoint.
  const command = workload.arguments.length > 0 ? workload.arguments : workload.entrypoint.length > 0 ? [] : (Cmd ?? []);
  return isInit([...entrypoint, ...command][0] ?? '');
}

/** Paths where Podman looks for its init program, in the folders of Debian and Fedora. */
const podmanInits = ['/usr/libexec/podman/catatonit', '/usr/lib/podman/catatonit', '/usr/libexec/catatonit/catatonit'];

/** Returns whether this machine has the init program that the engine runs as process 1 of containers. */
export function hasInitProgram(engine: 'docker' | 'podman'): boolean {
  return engine === 'docker' ? findProgram('docker-init') !== null : podmanInits.some((path) => existsSync(path));
}

/** Returns whether a program is an init process. Pure. */
export function isInit(program: string): boolean {
  return inits.has(program.split('/').at(-1) ?? '');
}
