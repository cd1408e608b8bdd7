import { hasControlCharacter } from '@davit/base';
import { DriverError } from '../errors.ts';
import type { Workload } from '../workload.ts';

/**
 * Fails with START_FAILED if no cluster can place the volumes, folders and files of a workload:
 * - A mounted path contains a comma, a colon or a double quote. Podman's compatible API joins the parts of a mount to
 *   one text and parses it again, so `/data,source=other` would mount another volume. Kubernetes refuses colons.
 * - A file has the path of another part, or is a parent of it.
 * - A folder has the path of a volume.
 */
export function refuseUnusablePaths({ volumes, folders = [], files }: Workload): void {
  const mounted = [...volumes.map(({ mountPath }) => mountPath), ...folders];
  const unmountable = mounted.find((path) => /[,:"]/.test(path) || hasControlCharacter(path));
  if (unmountable !== undefined) {
    throw new DriverError({
      cause: 'START_FAILED',
      message: `Nothing can be mounted at ${JSON.stringify(unmountable)}: the path contains a comma, a colon, a double quote or a control character.`,
      hint: 'Choose a mount_point without these characters.',
    });
  }
  const twice = mounted.find((path, index) => mounted.indexOf(path) !== index);
  if (twice !== undefined) throw conflict(`Two volumes or folders are at ${twice}.`);
  const all = new Set([...mounted, ...files.map(({ path }) => path)]);
  const parents = new Set([...all].flatMap(parentsOf));
  for (const { path } of files) {
    if (mounted.includes(path)) throw conflict(`The file ${path} is where a volume or folder is mounted.`);
    if (parents.has(path)) throw conflict(`The file ${path} is also a folder of another file or volume.`);
  }
}

function conflict(message: string): DriverError {
  return new DriverError({
    cause: 'START_FAILED',
    message,
    hint: 'Change the mount_path of the variable or the mount_point of the storage.',
  });
}

function parentsOf(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
}
