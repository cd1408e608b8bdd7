import { hasControlCharacter } from '@davit/base';
import type { Problems } from '../../shared/problems.ts';
import { isSystemPath, leavesRoot, pathFault } from '../../shared/problems.ts';
import { identities, refuseDuplicates } from './identity.ts';
import type { StorageRequest } from './request.ts';

/** A storage as stored; its id names the volume. Size in GiB. */
export interface StorageSpec {
  readonly id: string;
  readonly type: 'FAST_SSD';
  readonly size: number;
  readonly mount_point: string;
}

/** Returns the normal form of paths that mean the same folder. */
export function mountPath(path: string): string {
  return path
    .replace(/\/(?:\.?\/)+/g, '/')
    .replace(/\/\.$/, '/')
    .replace(/(.)\/$/, '$1');
}

/** Returns whether a path means the root. Docker reads backslashes as slashes where it decides that. */
function isRoot(path: string): boolean {
  return mountPath(path.replaceAll('\\', '/')) === '/';
}

// Files that every image has or that the engine adds. A folder cannot be mounted over them.
const filesOfSystem = ['passwd', 'group', 'shadow', 'hosts', 'hostname', 'resolv.conf'].map((name) => `/etc/${name}`);

/**
 * Returns whether no container can start with a folder at this path. The engine detects other paths that fail, such as
 * a file of the image.
 */
function isUnmountable(path: string): boolean {
  return isSystemPath(path) || filesOfSystem.includes(path);
}

/** Returns the storage of a request. A storage with the mount point of a former one keeps that one's id and data. */
export function toStorage(
  requested: readonly StorageRequest[],
  former: readonly StorageSpec[],
  problems: Problems,
): readonly StorageSpec[] {
  const ids = identities(
    {
      path: 'storage',
      noun: 'storage',
      requested,
      former,
      requestedKey: (storage) => mountPath(storage.mount_point),
      formerKey: (storage) => mountPath(storage.mount_point),
    },
    problems,
  );
  refuseDuplicates(
    requested.map((storage) => mountPath(storage.mount_point)),
    (index, earlier) =>
      problems.add(`storage.${index}.mount_point`, `is the mount point of storage.${earlier} already; mount each somewhere else`),
  );
  return requested.map((storage, index) => {
    const { id = '', former: before } = ids[index] ?? {};
    if (leavesRoot(storage.mount_point) || hasControlCharacter(storage.mount_point) || isRoot(storage.mount_point)) {
      problems.add(`storage.${index}.mount_point`, 'must be an absolute path below /, without .. and control characters');
    } else if (isUnmountable(mountPath(storage.mount_point))) {
      problems.add(
        `storage.${index}.mount_point`,
        `must be a folder of its own, as in /data: not /proc, /sys, /dev or below them, nor one of the files ${filesOfSystem.join(', ')}`,
      );
    }
    // Podman would read these characters as options of the mount.
    const fault = /[,"]/.test(storage.mount_point)
      ? 'must not contain a comma or a double quote'
      : pathFault(storage.mount_point);
    if (fault !== null) problems.add(`storage.${index}.mount_point`, fault);
    if (before !== undefined && storage.size < before.size) {
      problems.add(`storage.${index}.size`, `cannot shrink: it is ${before.size} GB and may only grow`);
    }
    return { id, type: storage.type, size: storage.size, mount_point: storage.mount_point };
  });
}
